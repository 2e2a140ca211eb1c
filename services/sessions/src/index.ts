export { sessions } from './service.ts';
