// The same turn written like Restate's manual: the history is the state of a virtual object, the model call is a step.
import { createRequire } from 'node:module';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { root } from '../subject.ts';
import { echo } from './echo.ts';

interface StoredMessage {
  message: string;
  answer: string;
}
interface Ctx {
  get(name: string): Promise<StoredMessage[] | null>;
  set(name: string, value: StoredMessage[]): void;
  run(name: string, step: () => string): Promise<string>;
}
interface Sdk {
  object(definition: { name: string; handlers: Record<string, (ctx: Ctx, request: { message: string }) => Promise<unknown>> }): unknown;
  createEndpointHandler(options: { services: unknown[] }): Parameters<typeof createServer>[1];
}

/** Number of earlier turns in the prompt, equal to the default of our agents. */
const HISTORY = 15;

const { object, createEndpointHandler } = createRequire(join(root, '.tools/restate/package.json'))('@restatedev/restate-sdk') as Sdk;

const session = object({
  name: 'session',
  handlers: {
    async turn(ctx, { message }) {
      const history = (await ctx.get('history')) ?? [];
      const answer = await ctx.run('model', () => echo(message));
      ctx.set('history', [...history, { message, answer }].slice(-HISTORY));
      return { response: answer };
    },
  },
});

const server = createServer({}, createEndpointHandler({ services: [session] }));
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`));
