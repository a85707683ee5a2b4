/** The part of JSON Schema that the policy's schema uses. */
export interface FieldSchema {
	readonly type?: string;
	readonly description?: string;
	readonly default?: unknown;
	readonly enum?: readonly unknown[];
	readonly anyOf?: readonly FieldSchema[];
	readonly items?: FieldSchema;
	readonly properties?: Readonly<Record<string, FieldSchema>>;
	/** What the values of a table take whose keys are free; `false` where they are not. */
	readonly additionalProperties?: FieldSchema | boolean;
	readonly minimum?: number;
	readonly maximum?: number;
	readonly exclusiveMinimum?: number;
	readonly minLength?: number;
	readonly maxLength?: number;
}

/** What values a field takes, in words that follow "expected". */
export function describeType(schema: FieldSchema): string {
	if (schema.anyOf !== undefined) return schema.anyOf.map(describeType).join(", or ");
	if (schema.enum !== undefined) return alternatives(schema.enum.map((value) => JSON.stringify(value)));
	switch (schema.type) {
		case "boolean":
			return "true or false";
		case "integer":
			return `a whole number${range(schema)}`;
		case "number":
			return `a number${range(schema)}`;
		case "string":
			return `a text${length(schema)}`;
		case "array":
			return `a list of ${describeType(schema.items ?? {})}`;
		case "object":
			return "a table";
		default:
			return schema.type ?? "any value";
	}
}

function alternatives(words: readonly string[]): string {
	const last = words.at(-1) ?? "nothing";
	return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`;
}

function range({ minimum, maximum, exclusiveMinimum }: FieldSchema): string {
	const bounds: string[] = [];
	if (exclusiveMinimum !== undefined) bounds.push(`above ${exclusiveMinimum}`);
	if (minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER) bounds.push(`at least ${minimum}`);
	if (maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER) bounds.push(`at most ${maximum}`);
	return bounds.length === 0 ? "" : `, ${bounds.join(" and ")}`;
}

function length({ minLength, maxLength }: FieldSchema): string {
	if (maxLength !== undefined) return ` of ${minLength ?? 0} to ${maxLength} characters`;
	return minLength !== undefined && minLength > 0
		? ` of at least ${minLength} character${minLength > 1 ? "s" : ""}`
		: "";
}
