import { deepStrictEqual } from "node:assert";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expected } from "./world.mjs";

for (const [name, orders] of Object.entries(expected)) {
	const shop = await import(pathToFileURL(resolve("shop/towns", name)).href);
	deepStrictEqual(shop.orders(), orders);
}
