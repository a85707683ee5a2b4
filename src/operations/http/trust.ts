import { readFileSync } from "node:fs";
import tls, { type SecureContext } from "node:tls";

// Certificates of authorities that Node did not read as it started.

/** Trusts those in this file too; `undefined` if Node has read it, or it is not such a file. */
export function trustFile(file: string | undefined): SecureContext | undefined {
	if (!file || file === process.env.NODE_EXTRA_CA_CERTS) return undefined;
	return contextOf(textsIn([file]), file);
}

/** Where programs such as OpenSSL, Go and Rust's rustls find the authorities of a Linux. */
const bundles = [
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
];

/**
 * Trusts those of the system too, as Claude Code and Codex do by themselves: of its store, of `SSL_CERT_FILE`, and of `file`.
 * Node.js 20 reads only files of Linux. `undefined` if there are none.
 */
export function trustSystem(file: string | undefined): SecureContext | undefined {
	const { getCACertificates } = tls as { readonly getCACertificates?: (kind: "system") => string[] };
	const stored = getCACertificates ? getCACertificates("system") : textsIn(bundles);
	return contextOf([...stored, ...textsIn([process.env.SSL_CERT_FILE])], file);
}

function contextOf(found: readonly string[], file: string | undefined): SecureContext | undefined {
	if (found.length === 0) return undefined;
	try {
		const others = textsIn([process.env.NODE_EXTRA_CA_CERTS, file]);
		return tls.createSecureContext({ ca: [...tls.rootCertificates, ...others, ...found] });
	} catch {
		return undefined;
	}
}

/** The texts of files that can be read; Node ignores the others too. */
function textsIn(files: readonly (string | undefined)[]): string[] {
	return files.flatMap((file) => {
		try {
			return file ? [readFileSync(file, "utf8")] : [];
		} catch {
			return [];
		}
	});
}
