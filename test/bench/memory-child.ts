import { readFileSync } from "node:fs";
import type * as Library from "../../src/index.ts";
import { importBuilt } from "./import-built.ts";

// Reads a conversation and guards it by the library, or only parses it: arguments are what to do, the file, the window.
const [, , what, file = "", contextWindow] = process.argv;
if (what !== "nothing") {
	const conversation = JSON.parse(readFileSync(file, "utf8"));
	if (what === "guard") {
		const { guard } = await importBuilt<typeof Library>("index.ts");
		const { error } = await guard(conversation, { contextWindow: Number(contextWindow) });
		if (error) throw error;
	}
}
