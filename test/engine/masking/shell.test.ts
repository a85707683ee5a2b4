import { describe, expect, it } from "vitest";
import { shellTarget } from "../../../src/engine/masking/shell.ts";
import type { TargetKind } from "../../../src/engine/masking/targets.ts";

describe("A command is known by its program", () => {
	it.each<[TargetKind, readonly string[]]>([
		[
			"read",
			[
				"cat f",
				"/bin/cat f",
				"head -20 f",
				"sed -n '1,5p' f",
				"nl -ba f | sed -n '10,20p'",
				"cat < f",
				"open a.py 3",
				"goto 90",
			],
		],
		["list", ["ls -la src 2>/dev/null", "find . -name '*.py' | head", "ls | grep x", "wc -l f"]],
		["search", ["grep -rn 'a | b; c' src", "rg -g '*.ts' x", "cat f | grep x", "sed -n 5,9p f | rg x"]],
		[
			"write",
			[
				"echo x > f",
				"echo x >> f",
				"cat f > g",
				"sed -i 's/a/b/' f",
				"sed -i '' -e 's/a/b/' f",
				"rm -rf f",
				"echo x | tee f",
			],
		],
		["run", ["npm test", "npm test 2>&1 | tail -5", "npm test > log", "./run.sh 5", "curl x | grep y", "unknown"]],
		["other", ["", "echo hello", "cd src", "# cat f", "export A=1", "  \n "]],
	])("that may %s: %j", (kind, scripts) => {
		for (const script of scripts) expect(shellTarget(script).kind, script).toBe(kind);
	});

	it.each([
		["LC_ALL=C sudo timeout 5 cat f", "read"],
		["if [ -f f ]; then cat f; else echo none; fi", "read"],
		["for one in a b; do grep x $one; done", "search"],
		["(cd /p && ls)", "list"],
		["npx eslint .", "run"],
		["uv run pytest", "run"],
	])("after any prefix: %s", (script, kind) => {
		expect(shellTarget(script).kind).toBe(kind);
	});

	it.each([
		["cat f && npm test", "run"],
		["cd /a; ls; cat f", "read"],
		["rm a\nls\ngrep x f\necho done", "search"],
		["echo a || rm b", "write"],
	])("the one with the most output, if there are several: %s", (script, kind) => {
		expect(shellTarget(script).kind).toBe(kind);
	});
});

describe("Text within a script is not a command", () => {
	it.each<[string, TargetKind]>([
		["echo 'npm test; ls'", "other"],
		['echo "a \\" && npm test"', "other"],
		["ls # && npm test", "list"],
		["grep a\\|npm f", "search"],
		["cat > f << 'EOF'\nnpm test\nls\nEOF", "write"],
		["cat > f <<EOF\nEOF\nls", "list"],
		["cat <<EOF | tee f\nnpm test\nEOF", "write"],
		["cat <<-END > f && grep x f\nnpm test\n\tEND", "search"],
		["cat > f <<EOF\nnpm test", "write"],
		["edit 4:4\nimport os; npm test\nend_of_edit", "write"],
		["ls \\\n  -la", "list"],
	])("%j", (script, kind) => {
		expect(shellTarget(script).kind).toBe(kind);
	});
});

describe("A target names", () => {
	it.each([
		["npm test", "npm test"],
		["cd /a && npm run check 2>&1 | tail -3", "cd /a && npm run check"],
		["npx tsc --noEmit", "tsc"],
		["python -m pytest -x a.py::b", "python pytest"],
		["python check.py --all", "python check.py"],
		["python -c 'print(1)'", undefined],
		["python - <<'EOF'\nprint(1)\nEOF", undefined],
		["git -C /a diff --stat", "git diff"],
		["/usr/bin/go test ./...", "go test"],
		["make > out.log", "make"],
		["curl -H 'Authorization: secret' https://a.b/c", "curl"],
	])("the folder, the program and the subcommand of a run: %s", (script, command) => {
		expect(shellTarget(script).command).toBe(command);
	});

	it.each([
		["A=secret cat 'src/a.ts' && echo done", "cat src/a.ts"],
		["cd /p && grep -rn 'a b'   src", "grep -rn '…' src"],
		["sed -n 1,5p f | head -3", "sed -n 1,5p f"],
		["echo hello", undefined],
	])("any other command without quoted text: %s", (script, command) => {
		expect(shellTarget(script).command).toBe(command);
	});

	it.each([
		"cat f",
		"grep -rn x src",
		"git diff main...next -- a.ts",
		"git -C /p show next:a.ts | sed -n '1,20p'",
		"gh pr view 12 --json body",
		"gh api repos/a/b/pulls/1/comments --jq '.[].body' 2>&1",
		"gh issue list --search x",
		"gh run view 7 --log",
		"kubectl -n web get pods -o yaml",
		"docker compose logs web",
		"npm view vitest versions",
		"tmux capture-pane -pt 0",
		"curl -s http://localhost/a | jq .items",
		"psql -c 'select 1'",
		"bd update --help",
		"git pull && sed -n '1,90p' a.ts",
		"npm test; cat report.txt",
	])("was run to be shown something: %s", (script) => {
		expect(shellTarget(script).isAsked).toBe(true);
	});

	it.each([
		"npm test",
		"npm run view",
		"npm test 2>&1 | grep -c failed",
		"git add a.ts && git commit -m 'Show the view'",
		"git push",
		"docker build .",
		"ls -R",
		"python show.py",
		"make install",
	])("reports what it did: %s", (script) => {
		expect(shellTarget(script).isAsked).toBeUndefined();
	});
});
