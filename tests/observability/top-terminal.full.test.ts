import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';
import { command, startEmbedded, type Running, type StartOptions } from '../e2e/embedded.ts';
import { call } from '../e2e/exchange.ts';

const CLI = fileURLToPath(new URL('../../bin/switchyard', import.meta.url));
const OPTIONS = { timeout: 240_000, skip: process.platform !== 'linux' && 'script of util-linux creates the terminal' };
const PATIENCE_MS = 60_000;
const ALTERNATE_SCREEN = '\u001b[?1049h';
const PRIMARY_SCREEN = '\u001b[?1049l';
const CURSOR = '\u001b[?25h';
const CTRL_C = '\u0003';
/** Runs a command on the terminal between two reads of its settings, and reports the exit code. */
const AROUND = 'stty cols 120 rows 40; stty -a >"$OUT.before"; "$@"; echo "exit code $?"; stty -a >"$OUT.after"';

interface Terminal extends AsyncDisposable {
  /** Resolves when the output contains this text or a match of this pattern. */
  see(expected: RegExp): Promise<void>;
  press(keys: string): void;
  /** Resolves to the output when the command has ended, and checks that the terminal has the settings of before. */
  end(): Promise<string>;
}

/** Runs the command line on a pseudo-terminal against a running product. */
async function openTerminal({ data, env }: Pick<Running, 'data'> & Pick<StartOptions, 'env'>, ...words: string[]): Promise<Terminal> {
  const out = `${data}/terminal`;
  await writeFile(`${out}.sh`, AROUND);
  const variables = { PATH: process.env['PATH'], HOME: data, SWITCHYARD_DATA: data, TERM: 'xterm', NO_COLOR: '1', OUT: out, ...env };
  const command = ['sh', `${out}.sh`, CLI, ...words].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    env: variables,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  let [output, seen] = ['', 0];
  const changed = new EventTarget();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    changed.dispatchEvent(new Event('output'));
  });
  return {
    async see(expected) {
      const signal = AbortSignal.timeout(PATIENCE_MS);
      for (;;) {
        const found = expected.exec(output.slice(seen));
        if (found !== null) return void (seen += found.index + found[0].length);
        await once(changed, 'output', { signal }).catch(() => assert.fail(`${expected} is not in ${JSON.stringify(output.slice(seen))}`));
      }
    },
    press: (keys) => void child.stdin.write(keys),
    async end() {
      await closed;
      assert.equal(await readFile(`${out}.after`, 'utf8'), await readFile(`${out}.before`, 'utf8'), 'the settings of the terminal');
      return output;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await closed;
    },
  };
}

function assertRestored(output: string): void {
  const [opened, closed] = [output.indexOf(ALTERNATE_SCREEN), output.lastIndexOf(PRIMARY_SCREEN)];
  assert.ok(opened >= 0 && closed > opened, 'the first screen is shown again');
  assert.ok(output.lastIndexOf(CURSOR) > opened, 'the cursor is shown again');
}

let product: Running;
before(async () => {
  if (OPTIONS.skip === false) product = await startEmbedded();
});
after(() => product?.[Symbol.asyncDispose]());

test('top shows a changed figure after a turn, and q restores the terminal', OPTIONS, async () => {
  await using terminal = await openTerminal(product, 'top');
  await terminal.see(/sessions +0, 0 ended badly[^]*turns +0\r\n/);
  await call(product, 'agent.execute', { message: 'hello' });
  await terminal.see(/sessions +1, 0 ended badly[^]*turns +1: completed 1\r\n/);
  terminal.press('xq');
  const output = await terminal.end();
  assert.match(output, /exit code 0\r\n$/);
  assertRestored(output);
});

test('Ctrl-C ends top with exit code 130 and restores the terminal', OPTIONS, async () => {
  await using terminal = await openTerminal(product, 'top');
  await terminal.see(/sessions +\d+/);
  terminal.press(CTRL_C);
  const output = await terminal.end();
  assert.match(output, /exit code 130\r\n$/);
  assertRestored(output);
});

test('top restores the terminal before it reports that the server cannot be reached', OPTIONS, async () => {
  const env = { SWITCHYARD_URL: 'http://127.0.0.1:9', SWITCHYARD_TOKEN: product.token };
  await using terminal = await openTerminal({ data: product.data, env }, 'top');
  const output = await terminal.end();
  assert.match(output, /error:[^]*exit code 1\r\n$/);
  assertRestored(output);
  assert.ok(output.indexOf('error:') > output.indexOf(PRIMARY_SCREEN), 'the error is on the first screen');
});

test('top prints one frame on a terminal with --once', OPTIONS, async () => {
  await using terminal = await openTerminal(product, 'top', '--once');
  const output = await terminal.end();
  assert.match(output, /^window[^]*exit code 0\r\n$/);
  assert.ok(!output.includes('\u001b'), 'no control sequences');
});

test('top prints one frame without a terminal', OPTIONS, async () => {
  const { code, stdout } = await command(product, 'top');
  assert.equal(code, 0);
  assert.match(stdout, /^window +1 h\n/);
  assert.equal(stdout.match(/^window/gm)?.length, 1);
});
