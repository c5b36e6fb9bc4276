"""How services are reached: the HTTP client and what their errors mean."""
