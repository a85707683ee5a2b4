/** A part of an answer, shape aside. The input of a call is `{path: "a.txt"}`, or what comes of that where it is cut. */
export type AnswerPart =
	| { readonly kind: "text"; readonly text: string }
	| { readonly kind: "thought"; readonly text: string }
	| CallPart;

/** A call of a tool. */
export interface CallPart {
	readonly kind: "call";
	readonly id: string;
	readonly name: string;
	readonly isCut?: true;
}

export interface Answer {
	/** In the provider's words. */
	readonly reason: unknown;
	readonly parts: readonly AnswerPart[];
}

/** One shape of answer, with what the suite has to know of it. */
export interface AnswerRow {
	readonly title: string;
	readonly write: (answer: Answer) => object;
	readonly reasons: {
		readonly length: readonly unknown[];
		readonly stop: readonly unknown[];
		/** None where the provider says that the model stopped by itself. */
		readonly tool_calls: readonly unknown[];
		readonly other: readonly unknown[];
	};
	/** Set where calls come after all text, or have no ids. */
	readonly callsComeLast?: true;
	readonly hasNoIds?: true;
}

/** What an answer says, or thinks. */
export const textOf = (parts: readonly AnswerPart[], kind: "text" | "thought" = "text") =>
	parts.flatMap((part) => (part.kind === kind ? [part.text] : [])).join("");

export const callsOf = (parts: readonly AnswerPart[]) => parts.flatMap((part) => (part.kind === "call" ? [part] : []));

/** The arguments of a call as text. */
export const written = (isCut: true | undefined) => (isCut ? '{"path":"a.t' : '{"path":"a.txt"}');

/** The arguments of a call as an object. */
export const parsed = (isCut: true | undefined) => (isCut ? { path: "a.t" } : { path: "a.txt" });
