import { pathToFileURL } from "node:url";
import { stripVTControlCharacters } from "node:util";
import type * as ResolvePolicy from "../../src/engine/policy/layers.ts";
import type * as Locale from "../../src/engine/policy/wordings.ts";
import type * as Wordings from "../../src/engine/policy/wordings.ts";
import type * as HeadTail from "../../src/engine/truncation/head-tail.ts";
import type * as TruncateOutput from "../../src/engine/truncation/truncate.ts";
import { importBuilt } from "./import-built.ts";
import { importPeer } from "./import-peer.ts";
import { agentsFolder, installPeers } from "./install-peers.ts";

/** Something that cuts a text. */
export interface TruncateContender {
	readonly name: string;
	/** Cuts to so many characters, or to what it takes for that. */
	readonly cut: (given: { readonly text: string; readonly focus: string }, maxChars: number) => string;
}

const ref = "0123456789abcdef0123456789abcdef";

type PiCut = (text: string, options: { maxBytes: number; maxLines: number }) => { content: string };
interface PiTruncate {
	readonly truncateHead: PiCut;
	readonly truncateTail: PiCut;
}
interface GeminiFiles {
	readonly formatTruncatedToolOutput: (text: string, file: string, maxChars: number) => string;
}

/** Ours, head and tail, and the functions with which two agents cut the answers of their tools. */
export async function truncateContenders(): Promise<TruncateContender[]> {
	installPeers(agentsFolder);
	const { truncateOutput } = await importBuilt<typeof TruncateOutput>("engine/truncation/truncate.ts");
	const { truncateHeadTail } = await importBuilt<typeof HeadTail>("engine/truncation/head-tail.ts");
	const { locales } = await importBuilt<typeof Locale>("engine/policy/wordings.ts");
	const { wordings } = await importBuilt<typeof Wordings>("engine/policy/wordings.ts");
	const { resolvePolicy } = await importBuilt<typeof ResolvePolicy>("engine/policy/layers.ts");
	const gemini = await importPeer<GeminiFiles>(peerFile("@google/gemini-cli-core/dist/src/utils/fileUtils.js"));
	const pi = await importPeer<PiTruncate>(peerFile("@mariozechner/pi-coding-agent/dist/core/tools/truncate.js"));
	const wording = wordings(resolvePolicy([{ locale: "en" }]), "recallable").notices;
	const marker = locales.en.archived.truncation_marker;
	const lines = Number.MAX_SAFE_INTEGER;
	return [
		{
			name: "Palimpsest, auto",
			cut: ({ text, focus }, max) => {
				const budget = { unit: "chars", max } as const;
				const strategy = "auto";
				return truncateOutput({ text, focus, budget, strategy, ref, wording, stripAnsi: stripVTControlCharacters })
					.text;
			},
		},
		{
			name: "head and tail",
			cut: ({ text }, maxChars) => {
				const half = Math.floor((maxChars - marker.length - 40) / 2);
				return truncateHeadTail(text, { maxChars, headChars: half, tailChars: half, marker }, () => ref).text;
			},
		},
		{
			name: "Gemini CLI",
			cut: ({ text }, max) => gemini.formatTruncatedToolOutput(text, "/tool-outputs/output.txt", max),
		},
		{ name: "pi, head", cut: ({ text }, maxBytes) => pi.truncateHead(text, { maxBytes, maxLines: lines }).content },
		{ name: "pi, tail", cut: ({ text }, maxBytes) => pi.truncateTail(text, { maxBytes, maxLines: lines }).content },
	];
}

/** A file inside a package, which its own list of exports does not offer. */
function peerFile(file: string): string {
	return pathToFileURL(`${agentsFolder}/node_modules/${file}`).href;
}
