import { describeType, type FieldSchema } from "./describe-type.ts";
import { policyJsonSchema } from "./policy-json-schema.ts";

/** One field of the policy, for reference pages, environment names and error messages. */
export interface PolicyField {
	/** Dotted path, as `--set` takes it. */
	readonly key: string;
	/** The values it takes, in words. */
	readonly type: string;
	readonly default: unknown;
	readonly description: string;
	/** The environment variable that sets it. */
	readonly environmentName: string;
}

/** Every field of the policy, in the schema's order. */
export function policyFields(): PolicyField[] {
	return fieldsUnder(policyJsonSchema() as FieldSchema, "");
}

function fieldsUnder(schema: FieldSchema, prefix: string): PolicyField[] {
	return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
		const key = `${prefix}${name}`;
		if (field.properties !== undefined) return fieldsUnder(field, `${key}.`);
		return [
			{
				key,
				type: describeType(field),
				default: field.default,
				description: field.description ?? "",
				environmentName: `PALIMPSEST_${key.replaceAll(".", "_").toUpperCase()}`,
			},
		];
	});
}
