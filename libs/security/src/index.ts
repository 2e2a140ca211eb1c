export { openBox, type Box } from './box.ts';
export { checkChain, linkHash, linkMac, textMac, type ChainCheck, type Link } from './chain.ts';
export { deriveKey, mintSealingKey, readMasterKey, seal, unseal, type SealingKey } from './envelope.ts';
export { matchesGlob } from './glob.ts';
export { acceptRequestId, deriveId, mintId, randomBase62 } from './ids.ts';
export { checkToken, hashToken, MIN_OPERATOR_TOKEN, mintToken, TOKEN_PATTERN, type TokenKind } from './tokens.ts';
