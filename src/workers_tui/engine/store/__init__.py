"""SQLite files shared by every engine of the user: transactions, locks, days."""
