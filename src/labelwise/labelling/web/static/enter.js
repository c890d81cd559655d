// The address that `labelwise serve` prints: its secret is sent at once and leaves the address bar.
document.getElementById("enter").requestSubmit();
