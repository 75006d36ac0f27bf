"""Bodies of requests: sQL: asked, waited for, paged, cancelled."""
