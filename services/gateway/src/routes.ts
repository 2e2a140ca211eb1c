import { registerActivity } from './rest/activity.ts';
import { registerAgents } from './rest/agents.ts';
import { registerChannels } from './rest/channels.ts';
import { registerApp } from './rest/dashboard.ts';
import { registerAudit } from './rest/audit.ts';
import { registerChatStream } from './rest/chat-stream.ts';
import { registerChat } from './rest/chat.ts';
import { registerEmbeddings } from './openai/embeddings.ts';
import { registerEvents } from './rest/events.ts';
import { registerHistory } from './rest/history.ts';
import { registerMcp } from './mcp/mcp-route.ts';
import { registerMedia } from './rest/media.ts';
import { registerMemory } from './rest/memory.ts';
import { registerModels } from './openai/models.ts';
import { registerResponseInputItems } from './openai/responses/response-input-items.ts';
import { registerResponses } from './openai/responses/responses.ts';
import { registerTickets } from './rest/tickets.ts';
import { registerWebhooks } from './webhooks/webhook-routes.ts';
import type { RegisterRoutes } from './gateway.ts';

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
