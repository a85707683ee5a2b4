import { createHash, generateKeyPairSync } from "node:crypto";

/** Letters and digits that look random and are the same in every run. */
function letters(count: number, seed: string): string {
	const hashed = Array.from({ length: Math.ceil(count / 40) }, (_, index) =>
		createHash("sha512").update(`${seed} ${index}`).digest("base64"),
	);
	return hashed
		.join("")
		.replace(/[^A-Za-z0-9]/g, "")
		.slice(0, count);
}

const written = { type: "pkcs8", format: "pem" } as const;

/**
 * Made-up credentials: the text that a tool might print, and what of it must not be found anywhere. Put together here, so
 * that no scanner takes this file for a leak.
 */
export function madeUpCredentials(): Readonly<Record<string, { readonly text: string; readonly secret: string }>> {
	const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export(written).toString();
	const curve = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export(written).toString();
	const github = `ghp_${letters(36, "github")}`;
	const fineGrained = `github_pat_${letters(82, "fine")}`;
	const npm = `npm_${letters(36, "npm")}`;
	const slack = ["xoxb", "123456789012", "1234567890123", letters(24, "slack")].join("-");
	const aws = letters(40, "aws");
	const anthropic = `sk-ant-api03-${letters(93, "anthropic")}AA`;
	const password = letters(20, "database");
	return {
		github: { text: `export GITHUB_TOKEN="${github}"`, secret: github },
		fineGrained: { text: `remote: ${fineGrained}`, secret: fineGrained },
		npm: { text: `npm config: ${npm}`, secret: npm },
		npmrc: { text: `//packages.example.test/:_authToken=${npm}`, secret: npm },
		slack: { text: `SLACK="${slack}"`, secret: slack },
		aws: { text: `aws_secret_access_key = ${aws}`, secret: aws },
		anthropic: { text: `key: ${anthropic}`, secret: anthropic },
		database: { text: `postgres://admin:${password}@db.internal.net/production`, secret: password },
		rsa: { text: rsa, secret: rsa.split("\n")[3] ?? "" },
		curve: { text: curve, secret: curve.split("\n")[1] ?? "" },
	};
}
