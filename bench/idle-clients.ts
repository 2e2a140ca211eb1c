// Holds idle WebSockets open: node bench/idle-clients.ts URL COUNT, with the headers as JSON in HEADERS.
import { openSocket } from './load-client.ts';

const AT_ONCE = 32;

const [url = '', count = '0'] = process.argv.slice(2);
const headers = JSON.parse(process.env['HEADERS'] ?? '{}') as Record<string, string>;
let remaining = Number(count);
let open = 0;
let refused = '';

async function openSome(): Promise<void> {
  while (remaining > 0 && refused === '') {
    remaining--;
    try {
      const socket = await openSocket(url, headers);
      socket.on('close', () => (open -= 1)).on('error', () => socket.terminate());
      open++;
    } catch (error) {
      refused = error instanceof Error ? error.message : 'refused';
    }
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, openSome));
console.log(`holding ${open}${refused === '' ? '' : `, then: ${refused}`}`);
setInterval(() => undefined, 60_000);
