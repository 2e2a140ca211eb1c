export { openAgentDirectory, type Agent, type AgentDirectory } from '@switchyard/service-kit';
