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
import { registerMedia } from './media/media-routes.ts';
import { registerMemory } from './rest/memory.ts';
import { registerModels } from './openai/models.ts';
import { registerResponseInputItems } from './openai/responses/response-input-items.ts';
import { registerResponses } from './openai/responses/responses.ts';
import { registerSignIn } from './rest/browser-sign-in.ts';
import { registerTickets } from './rest/tickets.ts';
import { registerWebhooks } from './webhooks/webhook-routes.ts';
import { NOT_FOUND, refuse } from './request/refusal.ts';
import type { RegisterRoutes } from './gateway.ts';

/** Registers routes that are not found while `gateway.web.enabled` is off. */
function whenWebEnabled(register: RegisterRoutes): RegisterRoutes {
  return (app, edge) => {
    void app.register((scope, _options, done) => {
      scope.addHook('onRequest', (request, reply, next) => {
        if (edge.settings.current.gateway.web.enabled) next();
        else refuse(request, reply, NOT_FOUND);
      });
      register(scope, edge);
      done();
    });
  };
}

/** All routes except pre-Fastify routes, `/ws` and the probes, in order of registration. */
export const routes: readonly RegisterRoutes[] = [
  whenWebEnabled(registerChat),
  whenWebEnabled(registerHistory),
  whenWebEnabled(registerChatStream),
  whenWebEnabled(registerEvents),
  whenWebEnabled(registerMemory),
  whenWebEnabled(registerAgents),
  whenWebEnabled(registerChannels),
  whenWebEnabled(registerActivity),
  whenWebEnabled(registerTickets),
  whenWebEnabled(registerSignIn),
  whenWebEnabled(registerApp),
  registerAudit,
  registerModels,
  registerResponses,
  registerResponseInputItems,
  registerEmbeddings,
  registerMedia,
  registerWebhooks,
  registerMcp,
];
