import { itReplaysShells } from './replay-suite.ts';

describe('recordings of shells', () => itReplaysShells());
