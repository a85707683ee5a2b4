import type { RequestParts } from "./unedited-bill.ts";

export type Ruler = ReturnType<typeof createRuler>;

/**
 * Learns how a provider counts a conversation in tokens of its own: so many for each of ours, and so many that it adds to a request,
 * such as the frame of its tools and of each message. A plane through all requests that it has counted, edited or not (least squares),
 * so that neither a small first request nor texts of another kind decide alone.
 */
export function createRuler() {
	let model: string | undefined;
	let line = emptyLine;
	return {
		/**
		 * Notes a request: its tokens by our count, as it was sent, and by the provider's. Where the provider clears results,
		 * requests shrink while their messages grow, which tells nothing of a message: `messages` is then `undefined`.
		 */
		learn(request: {
			readonly model: string | undefined;
			readonly counted: number;
			readonly messages: number | undefined;
			readonly real: number;
		}): void {
			// Not a number from the first request on that has none: messages are then left out.
			const { counted, messages = Number.NaN, real } = request;
			if (counted <= 0 || real <= 0) return;
			if (request.model !== model) line = emptyLine;
			model = request.model;
			line = {
				requests: line.requests + 1,
				counted: line.counted + counted,
				real: line.real + real,
				squares: line.squares + counted * counted,
				products: line.products + counted * real,
				messages: line.messages + messages,
				messagesSquared: line.messagesSquared + messages * messages,
				messagesByCounted: line.messagesByCounted + messages * counted,
				messagesByReal: line.messagesByReal + messages * real,
				least: Math.min(line.least, counted),
				most: Math.max(line.most, counted),
			};
		},
		/**
		 * Tokens of the provider for each of ours, and those that it adds, in ours. `real` is the provider's count of the request, which
		 * then is met exactly.
		 */
		measure(counted: number, real: number | undefined): { readonly scale: number; readonly added: number } {
			if (line.requests === 0 || counted <= 0) return { scale: real && counted > 0 ? real / counted : 1, added: 0 };
			const slope = slopeOf(line);
			const predicted = slope * counted + Math.max(0, line.real - slope * line.counted) / line.requests;
			const whole = real ?? predicted;
			const ratio = whole / counted;
			const scale = Math.min(ratio * mostOfText, Math.max(slope, ratio * leastShare));
			return { scale, added: whole / scale - counted };
		},
	};
}

const emptyLine = {
	...{ requests: 0, counted: 0, real: 0, squares: 0, products: 0 },
	...{ messages: 0, messagesSquared: 0, messagesByCounted: 0, messagesByReal: 0 },
	...{ least: Number.POSITIVE_INFINITY, most: 0 },
};

/** Requests of nearly the same size say nothing about a token more. */
const leastSpread = 1.5;
/** At least this share of a request is its text. */
const leastShare = 0.2;
/** Its other parts, such as a system prompt of plain words, may have fewer tokens for each of ours than its results. */
const mostOfText = 1.1;

/** Fewer requests do not tell messages from tokens; nor do requests whose messages and tokens nearly grow alike. */
const fewest = 6;
const leastApart = 0.02;

/** Tokens of the provider for each of ours. */
function slopeOf(line: typeof emptyLine): number {
	const { requests, counted, real, squares, products, least, most, messages } = line;
	const ratio = real / counted;
	if (most < least * leastSpread) return ratio;
	const spread = requests * squares - counted * counted;
	const together = requests * products - counted * real;
	const spreadOfMessages = requests * line.messagesSquared - messages * messages;
	const both = requests * line.messagesByCounted - messages * counted;
	const ofMessages = requests * line.messagesByReal - messages * real;
	const apart = spread * spreadOfMessages - both * both;
	// Requests with the same growth of both have one slope.
	const isApart = requests >= fewest && apart > leastApart * spread * spreadOfMessages;
	const slope = isApart ? (together * spreadOfMessages - ofMessages * both) / apart : together / spread;
	return slope > 0 ? slope : ratio;
}

/** Parts with the tokens that the provider adds, at the start of the request. */
export function withAdded({ unedited, sent }: RequestParts, added: number): RequestParts {
	const grown = (parts: RequestParts["sent"]): RequestParts["sent"] =>
		parts.map((part, index) => (index === 0 ? { ...part, tokens: part.tokens + added } : part));
	return added === 0 ? { unedited, sent } : { unedited: grown(unedited), sent: grown(sent) };
}
