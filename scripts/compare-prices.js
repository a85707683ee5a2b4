// Lists the rows of src/formats/tokens/price-table.ts that differ from the catalogue @pydantic/genai-prices that is
// installed. `--table` prints the rows as the table of docs/tokens.md.
import { pathToFileURL } from "node:url";
import { build } from "rolldown";

const file = "build/price-table.mjs";
await build({
	input: "src/formats/tokens/price-table.ts",
	platform: "node",
	external: [/^[^./]/],
	output: { file, codeSplitting: false },
});
const { pricesInTable, tableRows } = await import(pathToFileURL(file).href);

const rows = tableRows().map(({ family, row }) => ({ row, name: family.replace("*", String(row.from)) }));
const names = [...new Set(rows.map(({ name }) => name))];
const print = (line) => process.stdout.write(`${line}\n`);
const rounded = (value) => Math.round(value * 1_000) / 1_000;

if (process.argv.includes("--table")) {
	for (const name of names) {
		const { dollars, read, write, writeForHour, steps, minutes, tiers, regional } = pricesInTable(name);
		const served = Object.entries({ ...tiers, ...(regional > 1 && { region: regional }) });
		const cells = [
			`\`${name}\``,
			dollars ? `${dollars.input} / ${dollars.output}` : "",
			rounded(read),
			write === writeForHour ? write : `${write} / ${writeForHour}`,
			steps.map(({ over, input, output }) => `${over.toLocaleString("en")}: ${input} × / ${output} ×`).join(),
			minutes,
			served.map(([tier, factor]) => `${tier} ${rounded(factor)}`).join(", "),
		];
		print(`| ${cells.join(" | ")} |`);
	}
} else {
	const { calcPrice } = await import("@pydantic/genai-prices");
	const spellings = (name) => [name, name.replaceAll(".", "-")];
	for (const name of names) {
		const own = pricesInTable(name, Date.now());
		const priced = (usage) =>
			spellings(name)
				.map((one) => calcPrice(usage, one))
				.find((found) => found !== null);
		const found = priced({ input_tokens: 1 });
		if (!found) {
			print(`${name}: not in the catalogue`);
			continue;
		}
		const base = (price) => (typeof price === "object" ? price.base : price);
		const { input_mtok, output_mtok, cache_read_mtok } = found.model_price;
		const theirs = [base(input_mtok), base(output_mtok), base(cache_read_mtok)];
		const ours = own.dollars ? [own.dollars.input, own.dollars.output, own.dollars.input * own.read] : [];
		const differs = ours.some(
			(value, index) => theirs[index] === undefined || Math.abs(value - theirs[index]) > value / 100,
		);
		const shown = (values) => values.map((value) => (value === undefined ? "–" : rounded(value))).join(" / ");
		if (differs || ours.length === 0)
			print(`${name}: ${shown(ours)} here, ${shown(theirs)} in the catalogue (${found.model.id})`);
	}
}
