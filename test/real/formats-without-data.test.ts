import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { mcpSampling } from "../../src/formats/anthropic.ts";
import { locateMessages } from "../../src/formats/detect.ts";
import { vercelModel } from "../../src/formats/vercel-model.ts";
import { vercelUi } from "../../src/formats/vercel-ui.ts";
import { hasRealData, realDataFolder } from "../support/real-conversations.ts";

describe.skipIf(!hasRealData)("real conversations: formats without real data", () => {
	it.each([vercelModel, vercelUi, mcpSampling])("$name matches none", ({ probe }) => {
		const index: readonly { file: string }[] = JSON.parse(readFileSync(join(realDataFolder, "index.json"), "utf8"));
		for (const { file } of index) {
			const document: unknown = JSON.parse(readFileSync(join(realDataFolder, file), "utf8"));
			expect(probe(locateMessages(document)).fit, file).toBe("none");
		}
		expect(index.length).toBeGreaterThan(100);
	});
});
