import type * as CountPieces from "../../src/formats/tokens/count-pieces.ts";
import type { loadCounter as LoadCounter } from "../../src/formats/tokens/counter.ts";
import { importBuilt } from "./import-built.ts";

/** The product's counter of o200k_base. */
export interface ProductCounter {
	/** As the product uses it: counts of whole texts are remembered. */
	readonly count: (text: string) => number;
	/** A counter over the loaded encoding that has seen no text and remembers no whole ones. */
	readonly createBare: () => (text: string) => number;
}

/** Loads it from the build. */
export async function loadProductCounter(): Promise<ProductCounter> {
	const { loadCounter } = await importBuilt<{ loadCounter: typeof LoadCounter }>("formats/tokens/counter.ts");
	const { createCounter, readEncoding } = await importBuilt<typeof CountPieces>("formats/tokens/count-pieces.ts");
	const encoding = readEncoding("o200k_base");
	return {
		count: await loadCounter("o200k_base"),
		createBare: () => createCounter(encoding).count,
	};
}
