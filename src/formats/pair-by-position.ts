/** A call of a tool, or what a tool returned, as it stands in a message. Its own id is absent where it has none. */
export interface Exchange {
	readonly kind: "call" | "result";
	readonly name: string | undefined;
	readonly ownId: string | undefined;
}

/** A call that waits for its result. */
interface OpenCall {
	readonly name: string | undefined;
	readonly ownId: string | undefined;
	/** Its place: which message, and which part of it. */
	readonly message: number;
	readonly part: number;
}

/**
 * The ids by which calls and results are paired in APIs that don't demand any, by message and part; `undefined` for parts
 * that are neither, and for results without an id that answer no call. Ids of the API's own count where both sides have
 * the same one. Where one side has none, a result answers the first open call of its name in the nearest message with
 * calls before it, and both go by the id that one of them has. Where neither has one they go by the tool's name and the
 * call's number among those of that name in its message (`read_file#1`): such an id stays the same when other messages
 * are dropped, and looks well in a placeholder. A result without a name answers the first open call of any.
 */
export function pairByPosition(messages: readonly (readonly (Exchange | undefined)[])[]): (string | undefined)[][] {
	const ids: (string | undefined)[][] = [];
	const seen = new Set<string>();
	let open: OpenCall[] = [];
	let turn = -1;
	messages.forEach((parts, message) => {
		const own: (string | undefined)[] = [];
		ids.push(own);
		const numbers = new Map<string, number>();
		parts.forEach((exchange, part) => {
			if (exchange?.kind === "call") {
				if (turn !== message) open = [];
				turn = message;
				const { name, ownId } = exchange;
				const number = (numbers.get(name ?? "") ?? 0) + 1;
				numbers.set(name ?? "", number);
				if (ownId !== undefined) seen.add(ownId);
				own[part] = ownId ?? `${name || "call"}#${number}`;
				open.push({ name, ownId, message, part });
			} else if (exchange) {
				own[part] = answer(exchange);
			}
		});
	});

	function answer({ name, ownId }: Exchange): string | undefined {
		const named = ownId === undefined ? -1 : open.findIndex((call) => call.ownId === ownId);
		if (ownId !== undefined && (named !== -1 || seen.has(ownId))) {
			if (named !== -1) open.splice(named, 1);
			return ownId;
		}
		const position = open.findIndex(
			(call) => (name === undefined || call.name === name) && (call.ownId === undefined || ownId === undefined),
		);
		const [call] = position === -1 ? [] : open.splice(position, 1);
		if (!call) return ownId;
		const row = ids[call.message] as (string | undefined)[];
		if (ownId !== undefined) row[call.part] = ownId;
		return row[call.part];
	}

	return ids;
}
