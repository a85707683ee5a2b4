/** A value that JSON can't hold: one that holds itself, or a bigint. What came from JSON never is. */
export class NotJsonError extends TypeError {
	override readonly name = "NotJsonError";

	constructor(cause?: unknown) {
		super(
			"Expected values that JSON can hold; got one that holds itself, or a bigint. Pass the conversation as it is sent to the API.",
			{ cause },
		);
	}
}

/**
 * `JSON.stringify`, with an error of its own for what came from no JSON.
 *
 * @throws NotJsonError; and whatever reading a property throws.
 */
export function stringify(value: unknown, replacer?: (key: string, value: unknown) => unknown): string | undefined {
	try {
		return JSON.stringify(value, replacer);
	} catch (error) {
		throw error instanceof TypeError ? new NotJsonError(error) : error;
	}
}
