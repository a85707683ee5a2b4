import type { BilledUnit } from "./replay-page-data.ts";

const whole = new Intl.NumberFormat("en");
const money = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumSignificantDigits: 4 });
const percent = new Intl.NumberFormat("en", {
	style: "percent",
	minimumFractionDigits: 1,
	maximumFractionDigits: 1,
	// No “-0.0%”.
	signDisplay: "negative",
});

/** `12,345`. */
export const formatCount = (value: number): string => whole.format(Math.round(value));

/** `94.1%`; a dash where there is nothing that it could be a share of. */
export const formatShare = (value: number | null): string => (value === null ? "–" : percent.format(value));

/** `0.857`. */
export const formatRatio = (value: number | null): string => (value === null ? "–" : value.toFixed(3));

/** `12,345` in prices of one token, or `$1.234`, to four digits. */
export const formatCost = (value: number, unit: BilledUnit): string =>
	unit === "us_dollars" ? money.format(value) : formatCount(value);
