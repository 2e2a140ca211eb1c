import { registerChatStream } from './doors/chat-stream.ts';
import { registerChat } from './doors/chat.ts';
import { registerCompletions } from './doors/completions.ts';
import { registerHistory } from './doors/history.ts';
import { registerModels } from './doors/models.ts';
import type { RegisterDoor } from './gateway.ts';

/** What stands under `/api` is there only while `gateway.web.enabled` says so at the start. */
function web(register: RegisterDoor): RegisterDoor {
  return (app, edge) => {
    if (edge.settings.current.gateway.web.enabled) register(app, edge);
  };
}

/** Every door besides `/rpc`, `/ws` and the probes, in the order in which their routes are added. */
export const doors: readonly RegisterDoor[] = [
  web(registerChat),
  web(registerHistory),
  web(registerChatStream),
  registerCompletions,
  registerModels,
];
