/** A change that an agent proposes, on a real API server. */
import { describeAgentStory } from '../../tools/browser/agent-story-suite.ts';

describeAgentStory('a change that an agent proposes through /mcp, on a real API server', { hasPods: false });
