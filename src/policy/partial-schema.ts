import { z } from "zod";

/**
 * The same schema with every field optional and no defaults, through all levels. Unknown keys are refused, descriptions
 * are kept.
 */
export function partialSchema(schema: z.ZodType): z.ZodType {
	const partial = withoutDefaults(schema);
	return schema.description === undefined ? partial : partial.describe(schema.description);
}

function withoutDefaults(schema: z.ZodType): z.ZodType {
	if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) {
		return partialSchema(schema.unwrap() as z.ZodType);
	}
	if (schema instanceof z.ZodObject) {
		const fields = Object.entries(schema.shape as Record<string, z.ZodType>);
		return z.strictObject(Object.fromEntries(fields.map(([key, field]) => [key, partialSchema(field).optional()])));
	}
	return schema;
}
