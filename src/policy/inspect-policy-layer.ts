import { z } from "zod";
import { describeType, type FieldSchema } from "./describe-type.ts";
import { describeValue, quote } from "./describe-value.ts";
import { nearestName } from "./nearest-name.ts";
import { type PolicyLayer, policyLayerSchema } from "./policy-layer.ts";

/** A layer made of all that was valid, and one line for each thing that was not. */
export interface PolicyInspection {
	readonly layer: PolicyLayer;
	readonly problems: readonly string[];
}

const alias = "observation_masking";
const acceptedSchema = policyLayerSchema.extend({
	[alias]: z.strictObject({ schema1: policyLayerSchema.shape.mask as z.ZodType }).optional(),
});

/** What errors are worded from; made for the first one, since a start without any is the rule. */
function acceptedFields(): FieldSchema {
	fields ??= z.toJSONSchema(acceptedSchema) as FieldSchema;
	return fields;
}

let fields: FieldSchema | undefined;

/** Checks a value of any origin against the schema of a layer. Never throws, never follows a prototype. */
export function inspectPolicyLayer(value: unknown): PolicyInspection {
	const problems: string[] = [];
	const known = knownPart({ schema: acceptedSchema, value, path: [], problems });
	const checked = acceptedSchema.safeParse(known ?? {});
	if (!checked.success) {
		for (const issue of checked.error.issues) problems.push(describeIssue(issue, known));
	}
	const { [alias]: aliased, ...layer } = (checked.success ? checked.data : {}) as Record<string, unknown>;
	if (aliased === undefined) return { layer, problems };
	if (layer.mask !== undefined) {
		problems.push("observation_masking.schema1: is another name of mask, which is set too. Keep one of the two.");
	}
	return { layer: { ...layer, mask: (aliased as { schema1: PolicyLayer["mask"] }).schema1 ?? {} }, problems };
}

interface Part {
	readonly schema: z.ZodObject;
	readonly value: unknown;
	readonly path: readonly string[];
	readonly problems: string[];
}

/** Copies the known keys of a table; tells of each unknown one and of whatever should be a table and is none. */
function knownPart({ schema, value, path, problems }: Part): Record<string, unknown> | undefined {
	if (!isTable(value)) {
		problems.push(`${label(path)}expected a table, got ${describeValue(value, { quoteText: true })}`);
		return undefined;
	}
	const known: Record<string, unknown> = {};
	for (const [key, inner] of Object.entries(value)) {
		if (inner === undefined) continue;
		const innerPath = [...path, key];
		if (!Object.hasOwn(schema.shape, key)) {
			problems.push(`${label(innerPath)}unknown key. ${suggestion(innerPath, Object.keys(schema.shape))}`);
			continue;
		}
		const field = (schema.shape[key] as z.ZodOptional).unwrap();
		const kept =
			field instanceof z.ZodObject ? knownPart({ schema: field, value: inner, path: innerPath, problems }) : inner;
		if (kept !== undefined) known[key] = kept;
	}
	return known;
}

function describeIssue(issue: z.core.$ZodIssue, root: unknown): string {
	if (issue.code === "custom") return `${label(issue.path)}${issue.message}`;
	let schema: FieldSchema | undefined = acceptedFields();
	let value = root;
	for (const key of issue.path) {
		schema = typeof key === "number" ? listOf(schema)?.items : fieldOf(schema, String(key));
		value = (value as Record<PropertyKey, unknown> | undefined)?.[key];
	}
	const takesText = [schema, ...(schema?.anyOf ?? [])].some((one) => one?.type === "string" && one.enum === undefined);
	const got = describeValue(value, { quoteText: !takesText });
	return `${label(issue.path)}expected ${describeType(schema ?? {})}, got ${got}`;
}

function fieldOf(schema: FieldSchema | undefined, key: string): FieldSchema | undefined {
	const others = schema?.additionalProperties;
	return schema?.properties?.[key] ?? (typeof others === "object" ? others : undefined);
}

function listOf(schema: FieldSchema | undefined): FieldSchema | undefined {
	return schema?.anyOf?.find((one) => one.items !== undefined) ?? schema;
}

function suggestion(path: readonly string[], siblings: readonly string[]): string {
	const candidates = keysUnder(acceptedFields(), "").filter((key) => path[0] === alias || !key.startsWith(alias));
	const near = nearestName(path.join("."), candidates);
	if (near !== null) return `Did you mean ${near}?`;
	return `Known here: ${siblings.filter((key) => key !== alias).join(", ")}.`;
}

function keysUnder(schema: FieldSchema, prefix: string): string[] {
	return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
		const key = `${prefix}${name}`;
		return [key, ...keysUnder(field, `${key}.`)];
	});
}

function label(path: readonly PropertyKey[]): string {
	if (path.length === 0) return "";
	const keys = path.map(String).map((key) => (/^[A-Za-z0-9_-]{1,64}$/.test(key) ? key : quote(key)));
	return `${keys.join(".")}: `;
}

function isTable(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
