import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Transcript } from "../../src/engine/conversation/transcript.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { hasRealData, realDataFolder } from "../support/real-conversations.ts";

/** A real conversation, read. */
export interface RealTranscript {
	readonly file: string;
	/** The format that it was recognised as. */
	readonly format: string;
	readonly transcript: Transcript;
}

/** All real conversations, one after the other; none where the folder is absent. */
export function* realTranscripts(): Generator<RealTranscript> {
	if (!hasRealData) return;
	const root = join(realDataFolder, "conversations");
	for (const folder of readdirSync(root)) {
		for (const name of readdirSync(join(root, folder))) {
			const { transcript } = readConversation(JSON.parse(readFileSync(join(root, folder, name), "utf8")));
			yield { file: `${folder}/${name}`, format: transcript.format, transcript };
		}
	}
}
