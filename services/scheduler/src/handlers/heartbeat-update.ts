import type { Handler } from '@switchyard/bus';
import { ServiceError, type AgentConfig, type Params } from '@switchyard/contracts';
import { getHeartbeatSettings } from '../heartbeat/heartbeat-settings.ts';
import { findAgent, type HeartbeatDeps } from './heartbeat-deps.ts';

type Target = NonNullable<AgentConfig['scheduler']['heartbeat']['target']>;

/** Stores settings of an agent's heartbeat. They take effect when the registry has published the agent. */
export function heartbeatUpdate({ agents, settings, bus }: HeartbeatDeps): Handler<'heartbeat.update'> {
  return async (params, { principal }) => {
    const { agentId, targetChannelType: _type, targetChannelId: _channel, targetChatId: _chat, targetIsDm: _isDm, ...own } = params;
    const { config } = findAgent(agents, principal, agentId);
    const stored = config.scheduler.heartbeat;
    const target = readTarget(params, stored.target);
    const value = { ...own, ...(target && { target }) };
    await bus.as(principal).call('config.write', { as: 'heartbeat.update', path: `agents.${agentId}.scheduler.heartbeat`, value });
    const scheduler = { ...config.scheduler, heartbeat: { ...stored, ...value } };
    const effective = getHeartbeatSettings({ config: { ...config, scheduler } }, settings.current.scheduler.heartbeat);
    return { agentId, config: { ...effective }, updated: true };
  };
}

/** Returns the changed target; undefined if the call changes nothing of it. A target needs its channel type, channel and chat. */
function readTarget(params: Params<'heartbeat.update'>, stored: Partial<Target> = {}): Target | undefined {
  const { targetChannelType, targetChannelId, targetChatId, targetIsDm } = params;
  if ([targetChannelType, targetChannelId, targetChatId, targetIsDm].every((value) => value === undefined)) return undefined;
  const channelType = targetChannelType ?? stored.channelType;
  const channelId = targetChannelId ?? stored.channelId;
  const chatId = targetChatId ?? stored.chatId;
  const isDm = targetIsDm ?? stored.isDm;
  if (channelType === undefined || channelId === undefined || chatId === undefined)
    throw new ServiceError('INVALID_ARGUMENT', 'A target needs targetChannelType, targetChannelId and targetChatId.');
  return { channelType, channelId, chatId, ...(isDm === undefined ? {} : { isDm }) };
}
