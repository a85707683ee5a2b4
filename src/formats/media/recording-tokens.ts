import type { MediaData } from "./media-data.ts";
import { type MediaProvider, tokensFor } from "./media-provider.ts";

/** Bytes a second assumed of compressed sound (64 kbit/s) and of video (1 Mbit/s): low, so that no estimate is too small. */
const bytesPerSecond = { audio: 8_000, video: 125_000 } as const;
/** Seconds assumed of a recording that is only referred to. */
const assumedSeconds = 60;
/** Bytes in which the header of a WAV file is looked for. */
const headerBytes = 4_096;

/**
 * Tokens of a recording: sound 10 a second for OpenAI (600 a minute; platform.openai.com/docs/guides/realtime-costs) and
 * 32 for Gemini, video 263 (ai.google.dev, "Understand and count tokens"). Where a provider takes no such recordings,
 * Gemini's numbers stand. The duration follows from the size: exactly for WAV and PCM, else at 64 kbit/s of sound or
 * 1 Mbit/s of video; a recording of unknown size counts as a minute.
 */
export function recordingTokens(
	provider: MediaProvider,
	recording: { readonly kind: "audio" | "video"; readonly mediaType: string | undefined; readonly data: MediaData },
): number {
	const seconds = secondsOf(recording);
	if (recording.kind === "video") return Math.ceil(seconds * 263);
	const gemini = () => Math.ceil(seconds * 32);
	return tokensFor(provider, { openai: () => Math.ceil(seconds * 10), anthropic: gemini, gemini });
}

function secondsOf({ kind, mediaType, data }: Parameters<typeof recordingTokens>[1]): number {
	if (data.bytes === undefined) return assumedSeconds;
	const rate = (kind === "audio" ? (wavRate(data.head(headerBytes)) ?? pcmRate(mediaType)) : 0) || bytesPerSecond[kind];
	return data.bytes / rate;
}

/** Bytes a second that the header of a WAV file states. */
function wavRate(head: Uint8Array): number | undefined {
	const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
	const name = (offset: number) => String.fromCharCode(...head.subarray(offset, offset + 4));
	if (name(0) !== "RIFF" || name(8) !== "WAVE") return undefined;
	for (let offset = 12; offset + 20 <= head.length; offset += 8 + view.getUint32(offset + 4, true)) {
		if (name(offset) === "fmt ") return view.getUint32(offset + 16, true);
	}
	return undefined;
}

/** Bytes a second of raw 16-bit mono sound: at the rate that its media type states, or OpenAI's 24 kHz. */
function pcmRate(mediaType = ""): number | undefined {
	if (!/^audio\/(?:pcm|l16|x-raw)/i.test(mediaType)) return undefined;
	const samples = Number(/;\s*rate=(\d{4,6})\b/i.exec(mediaType)?.[1] ?? 24_000);
	return samples * 2;
}
