import type {
	createCounter as CreateCounter,
	loadCounter as LoadCounter,
	readEncoding as ReadEncoding,
} from "../../src/tokens/counter.ts";
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
	const { loadCounter } = await importBuilt<{ loadCounter: typeof LoadCounter }>("tokens/counter.ts");
	const { createCounter } = await importBuilt<{ createCounter: typeof CreateCounter }>("tokens/create-counter.ts");
	const { readEncoding } = await importBuilt<{ readEncoding: typeof ReadEncoding }>("tokens/read-encoding.ts");
	const encoding = readEncoding("o200k_base");
	return {
		count: await loadCounter("o200k_base"),
		createBare: () => createCounter(encoding).count,
	};
}
