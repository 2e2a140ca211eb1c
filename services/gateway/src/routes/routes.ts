import { registerActivity } from './activity.ts';
import { registerAgents } from './agents.ts';
import { registerChannels } from './channels.ts';
import { registerApp } from './app.ts';
import { registerAudit } from './audit.ts';
import { registerChatStream } from './chat-stream.ts';
import { registerChat } from './chat.ts';
import { registerEmbeddings } from './embeddings.ts';
import { registerEvents } from './events.ts';
import { registerHistory } from './history.ts';
import { registerMcp } from '../mcp/register-mcp.ts';
import { registerMedia } from './media.ts';
import { registerMemory } from './memory.ts';
import { registerModels } from './models.ts';
import { registerResponseInputItems } from './response-input-items.ts';
import { registerResponses } from './responses.ts';
import { registerTickets } from './tickets.ts';
import { registerWebhooks } from './webhooks.ts';
import type { RegisterRoutes } from '../gateway.ts';

/** What stands under `/api` is there only while `gateway.web.enabled` says so at the start. */
function web(register: RegisterRoutes): RegisterRoutes {
  return (app, edge) => {
    if (edge.settings.current.gateway.web.enabled) register(app, edge);
  };
}

/** Every route besides those in front of Fastify, `/ws` and the probes, in the order in which they are added. */
export const routes: readonly RegisterRoutes[] = [
  web(registerChat),
  web(registerHistory),
  web(registerChatStream),
  web(registerEvents),
  web(registerMemory),
  web(registerAgents),
  web(registerChannels),
  web(registerActivity),
  web(registerTickets),
  web(registerApp),
  registerAudit,
  registerModels,
  registerResponses,
  registerResponseInputItems,
  registerEmbeddings,
  registerMedia,
  registerWebhooks,
  registerMcp,
];
