import { test } from 'node:test';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { startProcess } from '../processes/test-process.ts';

/** Starts a listening child in its own process group and ends it on SIGTERM; after SIGKILL the child is orphaned. */
const LAUNCHER = `
  const { spawn } = require('node:child_process');
  const listens = "const s = require('node:net').createServer().listen(0, '127.0.0.1', () => console.log('port ' + s.address().port))";
  const child = spawn(process.execPath, ['--eval', listens], { stdio: ['ignore', 'inherit', 'ignore'], detached: true });
  process.on('SIGTERM', () => { child.kill('SIGKILL'); process.exit(); });
  process.stdout.on('error', () => undefined);
  setInterval(() => undefined, 1_000);
`;

const SERVERS = {
  launcher: `const { startProcess } = await import('${import.meta.dirname}/../processes/test-process.ts');
    const { ready } = await startProcess([process.execPath, '--eval', ${JSON.stringify(LAUNCHER)}], { ready: /port (\\d+)/ });
    const server = { port: ready[1] };`,
  'nats-server': `const { startNatsServer } = await import('${import.meta.dirname}/nats-server.ts'); const server = await startNatsServer();`,
  'redis-server': `const { startRedisServer } = await import('${import.meta.dirname}/redis-server.ts'); const server = await startRedisServer();`,
};

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

for (const [name, start] of Object.entries(SERVERS)) {
  const skip = name === 'nats-server' && process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGKILL'] as const) {
    test(`a ${name} ends with a test process that is ended by ${signal}`, { skip, timeout: 60_000 }, async () => {
      const program = `${start} console.log('port ' + server.port); setInterval(() => undefined, 1_000);`;
      const command = [process.execPath, '--input-type=module-typescript', '--eval', program];
      await using parent = await startProcess(command, { ready: /port (\d+)/, cwd: import.meta.dirname });
      const port = Number(parent.ready[1]);
      await parent.end(signal);
      while (await isListening(port)) await delay(20);
    });
  }
}
