import { type Piece, piecesOf } from './tokens.ts';

/** What the sandbox says: each paragraph stands by itself, and may follow any other. */
const PARAGRAPHS = [
  'The lighthouse stands on a rock that is covered at high water. It took four summers to build, because the masons could work for only three hours between one tide and the next. Every stone was cut on land to fit its neighbours, and none of them has moved since. On clear nights the light is seen from twenty miles away, two short flashes and a long one, and the children of the town know it before they know their letters.',
  'The harbour wakes before the town does. At four in the morning the lamps along the quay are still burning, and the boats that were out all night come in one after another, low in the water if the night was good. By six the fish are weighed, by seven they are on the road, and by eight the gulls have cleaned what was left on the stones.',
  'A keeper writes everything down: the hour, the height of the water, the direction of the wind, and the name of each ship that passes. He writes in ink. Where he has made a mistake he draws one line through it, so that the wrong word can still be read, and puts the right one beside it. The oldest of his books is older than the pier.',
  'The lighthouse was lit in a winter of ice, and it has not missed a single night since.',
  'The lamp is smaller than visitors expect. What makes it strong is the lens around it, a tower of curved glass as high as two people, which gathers the light and sends it out in one flat beam. It floats in a bath of oil and is so well balanced that a child can turn it with a finger. It is polished every morning, from the top to the bottom, with the same kind of cloth.',
  'When the fog comes in, the light is of little use, and the bell takes its place. It hangs at the end of the pier and strikes once every twenty seconds. Fishermen say that they steer by its voice as one finds a kitchen by its smell: not by thinking, and never wrongly. In the worst autumn that anyone remembers it rang for nine days.',
  'The ferry crosses the bay six times a day. It carries the post, the bread, the doctor on Tuesdays, and once a year a circus with two camels. The crossing takes forty minutes with the tide and an hour against it, and the captain, who has made it eleven thousand times, still stands at the rail to watch the lighthouse come around the point.',
  'There are two tides a day, and each is about fifty minutes later than the one before it on the day before. The table of them hangs at the door of the harbour office. It is worked out a year ahead, and it is right to a few minutes; but a strong wind from the west can hold the water in the bay for an hour, and then the table is laughed at.',
  'A storm gives notice. First the swell grows long and smooth, while the sky is still blue. Then the gulls come inland and sit in the fields, all facing the same way. The boats are brought behind the breakwater and tied with double lines, the shutters are closed, and the keeper carries up enough coal and coffee for three days.',
  'The path to the lighthouse begins behind the old rope works. It follows the wall for half a mile, crosses a wooden bridge, and ends at a white gate. Please come at low water, and look at the clock when you arrive: the rocks are dry for two hours, and the way back is the same as the way out. There is tea in the kitchen, and the stairs have one hundred and twelve steps.',
  'The harbour master knows every boat by its engine. She sits with her back to the window, drinks her tea, and says which one is coming in, whether it is heavy, and whether its skipper is in a good mood. She has been wrong twice. Both times the engine was new.',
  'Ropes were once made here, in a shed as long as a street. Men walked backwards from one end to the other with hemp around their waists, twisting as they went, and the rope grew in front of them. The longest one ever made was for a ship that sailed to the ice and came home with it three years later, worn thin, but whole.',
  'In spring the seals come back to the sandbank. There were eight of them twenty years ago, and now there are more than two hundred. They lie in the sun in the shape of bananas and watch the ferry with great interest. The fishermen grumble about them, and slow down when they pass, so that the young ones are not frightened.',
  'The fish market opens with a bell and is over within the hour. Boxes stand in rows on wet stone, each with a slip of paper: the boat, the weight, the hour of the catch. Buyers nod, or do not nod. An old man in a blue coat sees everything, and writes it in a book that is read again in the evening, when the boats are paid.',
  'A small boat needs few things: an anchor, a bucket, oars that fit, a dry box with matches in it, and someone on land who knows when to expect it. The rest is comfort. The boats in this harbour are painted every May, each in the colour that its family has always used, so that they can be told apart from the hill.',
  'The lighthouse has two voices by day. One is the white of its tower, which is painted again after each winter. The other is the flag that the keeper raises when a pilot is wanted, when the bar is too rough to cross, or when there is a letter for a ship. Before there was a telephone, the whole town could read the mast as easily as the church clock.',
  'At the end of summer the sea is warmer than the air, and in the mornings the bay steams like a bowl of soup. Swimmers go in before work, and come out red and pleased. By noon the mist is gone, the sails are up, and from the gallery of the lighthouse one can count the islands: seven on most days, eight when rain is coming.',
  'The museum is one room above the chandler. It has a diving helmet, a model of the harbour in cork, the log of the first steamer, and a piece of lens from the old light, which throws a rainbow across the wall at three in the afternoon. The door is open when the chandler is in, and he asks only that one writes a line in the guest book.',
];

const PARAGRAPH_BREAK = '\n\n';

const split = new Map<string, readonly Piece[]>();

/** A text of the almanac as tokens, which are found once. */
function tokensOf(text: string): readonly Piece[] {
  let pieces = split.get(text);
  if (pieces === undefined) split.set(text, (pieces = [...piecesOf(text)]));
  return pieces;
}

/**
 * The tokens of the paragraph at a place, which is any whole number; and with `goesOn` those of the paragraphs after
 * it, without an end.
 */
export function* almanacAt(place: number, goesOn: boolean): Generator<Piece, void> {
  // The break is part of a token with the full stop before it: counted with it, a text has as many as are said here.
  const end = goesOn ? PARAGRAPH_BREAK : '';
  for (let at = place; ; at += 1) {
    yield* tokensOf(`${PARAGRAPHS[at % PARAGRAPHS.length]!}${end}`);
    if (!goesOn) return;
  }
}
