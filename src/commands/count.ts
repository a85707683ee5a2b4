import { countText } from "../operations/count.ts";
import type { EncodingName } from "../tokens/encodings.ts";
import { type CommonOptions, configOf, printJson, readInput, say, textOf } from "./input-output.ts";

/** The options of `palimpsest count`. */
export interface CountOptions extends CommonOptions {
	readonly model?: string;
	readonly encoding?: EncodingName;
	readonly json?: boolean;
}

/** `palimpsest count FILE`: prints the tokens of a text, whatever it holds; with `--json`, how they came about too. */
export async function count(file: string, options: CountOptions): Promise<void> {
	const { policy } = await configOf(options);
	const text = textOf(await readInput(file, policy.limits.max_file_bytes));
	const { model, encoding } = options;
	const counted = await countText({ text, policy, model, encoding });
	if (options.json) {
		printJson(counted);
		return;
	}
	process.stdout.write(`${counted.tokens}\n`);
	if (counted.method !== "exact") say(`${counted.method}: ${counted.low} to ${counted.high} tokens`);
}
