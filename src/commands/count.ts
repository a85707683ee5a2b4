import { countText } from "../operations/count.ts";
import type { EncodingName } from "../tokens/encodings.ts";
import { type CommonOptions, commandConfig, printJson, readInput, say } from "./input-output.ts";

/** `palimpsest count FILE` */
export async function count(
	file: string,
	options: CommonOptions & { readonly model?: string; readonly encoding?: EncodingName; readonly json?: boolean },
): Promise<void> {
	const { policy } = await commandConfig(options);
	const text = (await readInput(file, policy.limits.max_file_bytes)).toString("utf8");
	const { model, encoding } = options;
	const counted = await countText({ text, policy, model, encoding });
	if (options.json) return printJson(counted);
	process.stdout.write(`${counted.tokens}\n`);
	if (counted.method !== "exact") say(`${counted.method}: ${counted.low} to ${counted.high} tokens`);
}
