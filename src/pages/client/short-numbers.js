const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const money = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumSignificantDigits: 2 });

/**
 * `12.3K`, as it stands at an axis.
 *
 * @param {number} value
 */
export const shortCount = (value) => compact.format(value);

/**
 * The same of a cost: `12.3K` in prices of one token, or `$1.2`.
 *
 * @param {number} value
 * @param {import("../replay-page-data.ts").BilledUnit} unit
 */
export const shortCost = (value, unit) => (unit === "us_dollars" ? money.format(value) : shortCount(value));
