"""Features of several tables, computed inside the cluster: what each customer paid, and what their segment gives.

    tensorflow-ignite node &
    python customers.py                  # asks localhost:10820; or TENSORFLOW_IGNITE_ADDRESS=HOST:PORT

Prints what each step reads. The caches "segments", "customers" and "payments" are made anew each time.
"""

import numpy as np

import tensorflow_ignite as tfi

CUSTOMERS = 500
PAYMENTS = 4_000

FEATURES = """
    SELECT c.customer, c.age, s.discount,
           COUNT(p.id) AS payments, COALESCE(SUM(p.amount), 0) AS spent, COALESCE(MAX(p.amount), 0) AS largest
    FROM Customers c
    JOIN Segments s ON s.segment = c.segment
    LEFT JOIN Payments p ON p.customer = c.customer AND p.amount > ?
    GROUP BY c.customer, c.age, s.discount
"""


def load(rng: np.random.Generator) -> dict[int, list[float]]:
    """Loads three tables, and returns the payments of each customer."""
    # Small and on every node: any condition may join it.
    segments = {"segment": np.arange(4), "discount": np.array([0.0, 0.05, 0.1, 0.2])}
    tfi.load("segments", segments, key="segment", replicated=True, if_exists="replace")
    customers = {
        "customer": np.arange(CUSTOMERS),
        "age": rng.integers(18, 90, CUSTOMERS),
        "segment": rng.integers(0, 4, CUSTOMERS),
    }
    tfi.load("customers", customers, key="customer", if_exists="replace")
    # The payments of a customer lie in the customer's partition: the owner of both answers alone.
    paid = {
        "id": np.arange(PAYMENTS),
        "customer": rng.integers(0, CUSTOMERS, PAYMENTS),
        "amount": np.round(rng.uniform(1, 100, PAYMENTS), 2),
    }
    tfi.load("payments", paid, key="id", affinity="customer", if_exists="replace")
    by_customer: dict[int, list[float]] = {number: [] for number in range(CUSTOMERS)}
    for customer, amount in zip(paid["customer"], paid["amount"], strict=True):
        by_customer[int(customer)].append(float(amount))
    return by_customer


def main() -> None:
    """Loads the tables, reads features of all customers, and compares them with those of numpy."""
    by_customer = load(np.random.default_rng(0))
    features = tfi.dataset("customers", sql=FEATURES, parameters=[10.0], exact=True)
    print("features:", ", ".join(features.element_spec))
    print("customers:", int(features.cardinality()))

    equal = 0
    for batch in features.batch(100):
        for customer, payments, spent in zip(batch["customer"], batch["payments"], batch["spent"], strict=True):
            more = [amount for amount in by_customer[int(customer)] if amount > 10.0]
            equal += int(payments) == len(more) and bool(np.isclose(float(spent), sum(more)))
    print("equal to those of numpy:", equal)

    # Customers without a payment, and each with a value of another table.
    idle = """
        SELECT c.customer, (SELECT s.discount FROM Segments s WHERE s.segment = c.segment) AS discount
        FROM Customers c
        WHERE NOT EXISTS (SELECT 1 FROM Payments p WHERE p.customer = c.customer AND p.amount > ?)
    """
    found = tfi.read_table("customers", sql=idle, parameters=[50.0])
    expected = sum(max(amounts, default=0.0) <= 50.0 for amounts in by_customer.values())
    print(f"customers without a payment above 50: {found.num_rows}, expected {expected}")


if __name__ == "__main__":
    main()
