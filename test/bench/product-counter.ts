import type * as Counter from "../../src/tokens/counter.ts";
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
	const { createCounter, loadCounter, readEncoding } = await importBuilt<typeof Counter>("tokens/counter.ts");
	const encoding = readEncoding("o200k_base");
	return {
		count: await loadCounter("o200k_base"),
		createBare: () => createCounter(encoding).count,
	};
}
