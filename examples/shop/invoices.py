"""An invoice for each order. `trunkline pipeline apply invoices.py` makes it a pipeline."""

import json

import trunkline as tl

VAT = 0.19


@tl.pipeline(input=tl.pfs("orders", glob="/day=*/orders/*.json"))
def invoices(datum):
    file = datum.file("orders")
    order = json.loads(file.text())
    gross = order["cents"]
    net = round(gross / (1 + VAT))
    invoice = {"order": order["order"], "net": net, "vat": gross - net, "gross": gross}
    datum.write(file.path.replace("/orders/", "/"), json.dumps(invoice) + "\n")
