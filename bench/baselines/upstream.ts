// A model upstream for chat completions: 20 pieces when streamed, one response otherwise.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const PIECES = Array.from({ length: 20 }, (_, at) => `piece ${at + 1}, `);
const HEAD = { id: 'chatcmpl-bench', created: 1, model: 'one' };
const USAGE = { prompt_tokens: 12, completion_tokens: PIECES.length, total_tokens: 12 + PIECES.length };

const chunk = (rest: object): string => `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', ...rest })}\n\n`;
const choice = (delta: object, finish_reason: string | null = null): object => ({ choices: [{ index: 0, delta, finish_reason }] });

const FRAMES = [
  chunk(choice({ role: 'assistant', content: '' })),
  ...PIECES.map((content) => chunk(choice({ content }))),
  `${chunk(choice({}, 'stop'))}${chunk({ choices: [], usage: USAGE })}data: [DONE]\n\n`,
].map((frame) => Buffer.from(frame));

const WHOLE = Buffer.from(
  JSON.stringify({
    ...HEAD,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: PIECES.join('') }, finish_reason: 'stop' }],
    usage: USAGE,
  }),
);

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text: string) => (body += text));
  request.on('end', () => {
    if ((JSON.parse(body) as { stream?: boolean }).stream !== true) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': WHOLE.length }).end(WHOLE);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    let next = 0;
    // One piece per event loop iteration, like a very fast model.
    const send = (): void => {
      if (response.destroyed) return;
      const frame = FRAMES[next++];
      if (next === FRAMES.length) {
        response.end(frame);
        return;
      }
      response.write(frame);
      setImmediate(send);
    };
    send();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`));
