import { mkdirSync, writeFileSync } from "node:fs";
import { startRandom } from "../random.mjs";

const countries = {
	Poland: { currency: "PLN", towns: ["Elbing", "Thorn", "Posen"] },
	Sweden: { currency: "SEK", towns: ["Lund", "Falun", "Visby"] },
	Switzerland: { currency: "CHF", towns: ["Thun", "Olten", "Zug"] },
	Norway: { currency: "NOK", towns: ["Bergen", "Molde", "Larvik"] },
};
const items = ["nails", "screws", "boards", "wire", "hinges", "tiles"];
const verbs = ["list", "sort", "count", "label", "pack", "check", "weigh", "store"];
const things = ["Crates", "Orders", "Slips", "Shelves", "Parcels", "Returns", "Pallets"];

const { below, pick, shuffled } = startRandom(53);
const towns = Object.entries(countries).flatMap(([country, { towns: names }]) =>
	names.map((town) => ({ town, country })),
);

/** By module, what `orders()` of it returns once every call is right. */
export const expected = {};
const modules = {};

for (const [index, { town, country }] of shuffled(towns).entries()) {
	const name = `shop-${String(index + 1).padStart(2, "0")}.mjs`;
	const sold = [pick(items), pick(items), pick(items)].map((item) => ({ item, quantity: 1 + below(90) }));
	expected[name] = sold.map(({ item, quantity }) => `${quantity * item.length * 7} ${countries[country].currency}`);
	const [first, second, third] = sold;
	modules[name] = `// The shop in ${town}: its orders, and what is done with them.
import { price } from "../price.mjs";

${fillers(11)}
export function orders() {
	const quantity = ${third.quantity};
	return [price("${first.item}", ${first.quantity}), ...others(), price("${third.item}", quantity)];
}

${fillers(11)}
function others() {
	return [price("${second.item}", ${second.quantity})];
}

${fillers(8)}`.trimEnd();
}

const priceModule = `/** The price of so many of an item, with its currency. */
export function price(item, { quantity, currency }) {
	if (!/^[A-Z]{3}$/.test(currency)) throw new Error("Expected a currency of three letters.");
	return \`\${quantity * item.length * 7} \${currency}\`;
}
`;

export function writeTree() {
	mkdirSync("shop/towns", { recursive: true });
	writeFileSync("shop/price.mjs", priceModule);
	const rows = Object.entries(countries).map(
		([country, { currency, towns: names }]) => `| ${country} | ${currency} | ${names.join(", ")} |`,
	);
	writeFileSync("shop/countries.md", `| country | currency | towns |\n|---|---|---|\n${rows.join("\n")}\n`);
	for (const [name, text] of Object.entries(modules)) writeFileSync(`shop/towns/${name}`, `${text}\n`);
}

/** Functions that have nothing to do with prices. */
function fillers(count) {
	const functions = Array.from({ length: count }, () => {
		const name = `${pick(verbs)}${pick(things)}${below(10_000)}`;
		const [least, most] = [below(50), 50 + below(50)];
		return `export function ${name}(list, limit = ${most}) {
	const kept = list.filter(({ weight }) => weight > ${least} && weight < limit);
	return kept.map(({ id, weight }) => ({ id, share: weight / ${most}, isHeavy: weight > ${Math.floor((least + most) / 2)} }));
}
`;
	});
	return functions.join("\n");
}
