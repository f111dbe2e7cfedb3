/** An agent finds out why the cart crashes and proposes more memory; its user confirms, and Activity names both. */
import { describeAgentStory } from './agent-story-suite.ts';

describeAgentStory('a change that an agent proposes through /mcp', { hasPods: true });
