import { fairShares } from "./fair-shares.ts";
import { type HookContext, isJsonObject } from "./tool-event.ts";

/** The texts among the blocks of a result, `{type: "text", text}` or `{text}`, shortened; `undefined` where all fit. */
export async function shortenBlocks(
	blocks: readonly unknown[],
	{ mostChars, shorten }: Pick<HookContext, "mostChars" | "shorten">,
): Promise<unknown[] | undefined> {
	const texts = blocks.map((block) => (isJsonObject(block) && typeof block.text === "string" ? block.text : ""));
	const shares = fairShares(
		texts.map((text) => text.length),
		mostChars,
	);
	let isChanged = false;
	const shortened = await Promise.all(
		blocks.map(async (block, index) => {
			const text = texts[index] as string;
			const share = shares[index] as number;
			if (text.length <= share || !isJsonObject(block)) return block;
			const shorter = await shorten(text, share);
			if (shorter === undefined) return block;
			isChanged = true;
			return { ...block, text: shorter };
		}),
	);
	return isChanged ? shortened : undefined;
}
