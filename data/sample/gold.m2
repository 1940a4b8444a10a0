S My grandmother live in small village near of the sea .
A 2 3|||R:VERB:SVA|||lives|||REQUIRED|||-NONE-|||0
A 4 4|||M:DET|||a|||REQUIRED|||-NONE-|||0
A 7 8|||U:PREP||||||REQUIRED|||-NONE-|||0
A 2 3|||R:VERB:SVA|||lives|||REQUIRED|||-NONE-|||1
A 4 4|||M:DET|||a|||REQUIRED|||-NONE-|||1
A 6 8|||R:PREP|||by|||REQUIRED|||-NONE-|||1

S The train was late again , so I read two chapters of my book .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1

S I am agree with you .
A 1 2|||U:VERB||||||REQUIRED|||-NONE-|||0
A 1 2|||U:VERB||||||REQUIRED|||-NONE-|||1

S Thanks you !
A 0 1|||R:VERB:FORM|||Thank|||REQUIRED|||-NONE-|||0
A 1 2|||U:PRON||||||REQUIRED|||-NONE-|||1

S Yesterday I have seen a very interesting film about the life of dolphins .
A 2 4|||R:VERB:TENSE|||saw|||REQUIRED|||-NONE-|||0
A 1 1|||M:PUNCT|||,|||REQUIRED|||-NONE-|||1
A 2 4|||R:VERB|||watched|||REQUIRED|||-NONE-|||1
A 10 11|||R:NOUN:NUM|||lives|||REQUIRED|||-NONE-|||1

S In my country the peoples usually eats the dinner at nine o'clock because is too hot before .
A 3 4|||U:DET||||||REQUIRED|||-NONE-|||0
A 4 5|||R:NOUN:NUM|||people|||REQUIRED|||-NONE-|||0
A 6 7|||R:VERB:SVA|||eat|||REQUIRED|||-NONE-|||0
A 7 8|||U:DET||||||REQUIRED|||-NONE-|||0
A 13 13|||M:PRON|||it|||REQUIRED|||-NONE-|||0
A 17 17|||M:PRON|||that|||REQUIRED|||-NONE-|||0
A 3 3|||M:PUNCT|||,|||REQUIRED|||-NONE-|||1
A 3 4|||U:DET||||||REQUIRED|||-NONE-|||1
A 4 5|||R:NOUN:NUM|||people|||REQUIRED|||-NONE-|||1
A 6 7|||R:VERB|||have|||REQUIRED|||-NONE-|||1
A 7 8|||U:DET||||||REQUIRED|||-NONE-|||1
A 13 13|||M:PRON|||it|||REQUIRED|||-NONE-|||1
A 16 17|||R:OTHER|||earlier in the evening|||REQUIRED|||-NONE-|||1

S She suggested me to apply for the scholarship .
A 2 4|||R:OTHER|||that I||I||that I should|||REQUIRED|||-NONE-|||0
A 1 2|||R:VERB|||advised|||REQUIRED|||-NONE-|||1

S I am writing to complain about the quality of the service in your restaurant last Saturday .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1

S He do n't knows nothing about computers , he always ask to me for help .
A 1 2|||R:VERB:SVA|||does|||REQUIRED|||-NONE-|||0
A 3 4|||R:VERB:FORM|||know|||REQUIRED|||-NONE-|||0
A 4 5|||R:PRON|||anything|||REQUIRED|||-NONE-|||0
A 7 8|||R:PUNCT|||;|||REQUIRED|||-NONE-|||0
A 10 11|||R:VERB:SVA|||asks|||REQUIRED|||-NONE-|||0
A 11 12|||U:PREP||||||REQUIRED|||-NONE-|||0
A 1 2|||R:VERB:SVA|||does|||REQUIRED|||-NONE-|||1
A 3 4|||R:VERB:FORM|||know|||REQUIRED|||-NONE-|||1
A 4 5|||R:PRON|||anything|||REQUIRED|||-NONE-|||1
A 8 8|||M:CONJ|||so|||REQUIRED|||-NONE-|||1
A 10 11|||R:VERB:SVA|||asks|||REQUIRED|||-NONE-|||1
A 11 12|||U:PREP||||||REQUIRED|||-NONE-|||1

S Although it was raining , but we decided to go to hiking in the mountain .
A 5 6|||U:CONJ||||||REQUIRED|||-NONE-|||0
A 10 11|||U:PREP||||||REQUIRED|||-NONE-|||0
A 14 15|||R:NOUN:NUM|||mountains|||REQUIRED|||-NONE-|||0
A 5 6|||U:CONJ||||||REQUIRED|||-NONE-|||1
A 10 11|||U:PREP||||||REQUIRED|||-NONE-|||1
A 14 15|||R:NOUN:NUM|||mountains|||REQUIRED|||-NONE-|||1

S This informations are very usefull for the persons which want to study abroad .
A 1 2|||R:NOUN:INFL|||information|||REQUIRED|||-NONE-|||0
A 2 3|||R:VERB:SVA|||is|||REQUIRED|||-NONE-|||0
A 4 5|||R:SPELL|||useful|||REQUIRED|||-NONE-|||0
A 6 7|||U:DET||||||REQUIRED|||-NONE-|||0
A 7 8|||R:NOUN|||people|||REQUIRED|||-NONE-|||0
A 8 9|||R:PRON|||who|||REQUIRED|||-NONE-|||0
A 1 2|||R:NOUN:INFL|||information|||REQUIRED|||-NONE-|||1
A 2 3|||R:VERB:SVA|||is|||REQUIRED|||-NONE-|||1
A 4 5|||R:SPELL|||useful|||REQUIRED|||-NONE-|||1
A 6 7|||U:DET||||||REQUIRED|||-NONE-|||1
A 7 8|||R:NOUN|||people|||REQUIRED|||-NONE-|||1
A 8 9|||R:PRON|||who|||REQUIRED|||-NONE-|||1

S The most important thing in life it is the healthy .
A 6 7|||U:PRON||||||REQUIRED|||-NONE-|||0
A 8 9|||U:DET||||||REQUIRED|||-NONE-|||0
A 9 10|||R:MORPH|||health|||REQUIRED|||-NONE-|||0
A 6 7|||U:PRON||||||REQUIRED|||-NONE-|||1
A 8 10|||R:OTHER|||good health|||REQUIRED|||-NONE-|||1

S When I was a child , my parents used to take me every summer to a lake in the north of the country , where we would swim and sleep in a tent .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1

S My aunt avoids to drive at night .
A 3 5|||R:VERB:FORM|||driving|||REQUIRED|||-NONE-|||0
A 3 5|||R:VERB:FORM|||driving|||REQUIRED|||-NONE-|||1

S If I would have more money I will buy a new bike , because my is broken .
A 2 4|||R:VERB:TENSE|||had|||REQUIRED|||-NONE-|||0
A 6 6|||M:PUNCT|||,|||REQUIRED|||-NONE-|||0
A 7 8|||R:VERB:TENSE|||would|||REQUIRED|||-NONE-|||0
A 14 15|||R:PRON|||mine|||REQUIRED|||-NONE-|||0
A 2 4|||R:VERB:TENSE|||had|||REQUIRED|||-NONE-|||1
A 6 6|||M:PUNCT|||,|||REQUIRED|||-NONE-|||1
A 7 8|||R:VERB:TENSE|||would|||REQUIRED|||-NONE-|||1
A 12 13|||U:PUNCT||||||REQUIRED|||-NONE-|||1
A 15 15|||M:NOUN|||old one|||REQUIRED|||-NONE-|||1

S Nowadays , most of people uses there phone for to read the news .
A 3 4|||U:PREP||||||REQUIRED|||-NONE-|||0
A 5 6|||R:VERB:SVA|||use|||REQUIRED|||-NONE-|||0
A 6 7|||R:DET|||their|||REQUIRED|||-NONE-|||0
A 7 8|||R:NOUN:NUM|||phones|||REQUIRED|||-NONE-|||0
A 8 9|||U:PREP||||||REQUIRED|||-NONE-|||0
A 3 4|||U:PREP||||||REQUIRED|||-NONE-|||1
A 5 6|||R:VERB:SVA|||use|||REQUIRED|||-NONE-|||1
A 6 7|||R:DET|||their|||REQUIRED|||-NONE-|||1
A 7 8|||R:NOUN:NUM|||phones|||REQUIRED|||-NONE-|||1
A 8 9|||U:PREP||||||REQUIRED|||-NONE-|||1

S I have been living here since five years .
A 5 6|||R:PREP|||for|||REQUIRED|||-NONE-|||0
A 5 6|||R:PREP|||for|||REQUIRED|||-NONE-|||1

S The teacher explained us the rule but nobody of us understood it .
A 3 6|||R:OTHER|||the rule to us|||REQUIRED|||-NONE-|||0
A 7 8|||R:PRON|||none|||REQUIRED|||-NONE-|||0
A 3 4|||U:PRON||||||REQUIRED|||-NONE-|||1
A 6 6|||M:OTHER|||to us ,|||REQUIRED|||-NONE-|||1
A 7 8|||R:PRON|||none|||REQUIRED|||-NONE-|||1

S Could you tell me where is the nearest bank ?
A 5 9|||R:WO|||the nearest bank is|||REQUIRED|||-NONE-|||0
A 5 9|||R:WO|||the nearest bank is|||REQUIRED|||-NONE-|||1

S Despite of the bad wether , the match was not canceled .
A 1 2|||U:PREP||||||REQUIRED|||-NONE-|||0
A 4 5|||R:SPELL|||weather|||REQUIRED|||-NONE-|||0
A 0 1|||R:PREP|||In spite|||REQUIRED|||-NONE-|||1
A 4 5|||R:SPELL|||weather|||REQUIRED|||-NONE-|||1

S My brother is more taller than me and he plays basketball since he has twelve years .
A 3 4|||U:ADV||||||REQUIRED|||-NONE-|||0
A 9 10|||R:VERB:TENSE|||has played|||REQUIRED|||-NONE-|||0
A 13 16|||R:OTHER|||was twelve|||REQUIRED|||-NONE-|||0
A 3 4|||U:ADV||||||REQUIRED|||-NONE-|||1
A 7 7|||M:PUNCT|||,|||REQUIRED|||-NONE-|||1
A 9 10|||R:VERB:TENSE|||has been playing|||REQUIRED|||-NONE-|||1
A 12 16|||R:OTHER|||the age of twelve|||REQUIRED|||-NONE-|||1

S Please find attached the documents you requested .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1

S the city were I born is famous for it 's old bridges .
A 0 1|||R:ORTH|||The|||REQUIRED|||-NONE-|||0
A 2 3|||R:SPELL|||where|||REQUIRED|||-NONE-|||0
A 4 4|||M:VERB:TENSE|||was|||REQUIRED|||-NONE-|||0
A 8 10|||R:DET|||its|||REQUIRED|||-NONE-|||0
A 0 1|||R:ORTH|||The|||REQUIRED|||-NONE-|||1
A 2 3|||R:SPELL|||where|||REQUIRED|||-NONE-|||1
A 4 4|||M:VERB:TENSE|||was|||REQUIRED|||-NONE-|||1
A 8 10|||R:DET|||its|||REQUIRED|||-NONE-|||1

S Yesterday in shop I met old friend which I did not see from school .
A 2 2|||M:DET|||a|||REQUIRED|||-NONE-|||0
A 5 5|||M:DET|||an|||REQUIRED|||-NONE-|||0
A 7 8|||R:PRON|||who|||REQUIRED|||-NONE-|||0
A 9 10|||R:VERB:TENSE|||had|||REQUIRED|||-NONE-|||0
A 11 12|||R:VERB:FORM|||seen|||REQUIRED|||-NONE-|||0
A 12 13|||R:PREP|||since|||REQUIRED|||-NONE-|||0
A 1 2|||R:PREP|||at|||REQUIRED|||-NONE-|||1
A 2 2|||M:DET|||the|||REQUIRED|||-NONE-|||1
A 4 5|||R:VERB|||ran into|||REQUIRED|||-NONE-|||1
A 5 5|||M:DET|||an|||REQUIRED|||-NONE-|||1
A 7 8|||U:PRON||||||REQUIRED|||-NONE-|||1
A 9 12|||R:VERB:TENSE|||had not seen|||REQUIRED|||-NONE-|||1
A 12 13|||R:PREP|||since|||REQUIRED|||-NONE-|||1

S I did a big mistake when I choosed that university , the teachers was boring and I did not learned nothing .
A 1 2|||R:VERB|||made|||REQUIRED|||-NONE-|||0
A 7 8|||R:VERB:INFL|||chose|||REQUIRED|||-NONE-|||0
A 10 11|||R:PUNCT|||:|||REQUIRED|||-NONE-|||0
A 13 14|||R:VERB:SVA|||were|||REQUIRED|||-NONE-|||0
A 19 20|||R:VERB:FORM|||learn|||REQUIRED|||-NONE-|||0
A 20 21|||R:PRON|||anything|||REQUIRED|||-NONE-|||0
A 1 2|||R:VERB|||made|||REQUIRED|||-NONE-|||1
A 7 8|||R:VERB:INFL|||chose|||REQUIRED|||-NONE-|||1
A 10 11|||R:PUNCT|||.|||REQUIRED|||-NONE-|||1
A 11 12|||R:ORTH|||The|||REQUIRED|||-NONE-|||1
A 13 14|||R:VERB:SVA|||were|||REQUIRED|||-NONE-|||1
A 15 15|||M:PUNCT|||,|||REQUIRED|||-NONE-|||1
A 17 19|||U:VERB:TENSE||||||REQUIRED|||-NONE-|||1

S How is called this dish in English ?
A 0 1|||R:ADV|||What|||REQUIRED|||-NONE-|||0
A 2 5|||R:WO|||this dish called|||REQUIRED|||-NONE-|||0
A 0 1|||R:ADV|||What|||REQUIRED|||-NONE-|||1
A 2 5|||R:WO|||this dish called|||REQUIRED|||-NONE-|||1

S The number of tourists has increased from 2 million to almost 5 million in ten years .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1

S I enjoyed to work with childrens because they are always fun and they say always the true .
A 2 4|||R:VERB:FORM|||working|||REQUIRED|||-NONE-|||0
A 5 6|||R:NOUN:INFL|||children|||REQUIRED|||-NONE-|||0
A 13 15|||R:OTHER|||always tell|||REQUIRED|||-NONE-|||0
A 16 17|||R:MORPH|||truth|||REQUIRED|||-NONE-|||0
A 2 4|||R:VERB:FORM|||working|||REQUIRED|||-NONE-|||1
A 5 6|||R:NOUN:INFL|||children|||REQUIRED|||-NONE-|||1
A 13 15|||R:OTHER|||always tell|||REQUIRED|||-NONE-|||1
A 16 17|||R:MORPH|||truth|||REQUIRED|||-NONE-|||1

S It depends of the price .
A 2 3|||R:PREP|||on|||REQUIRED|||-NONE-|||0
A 2 3|||R:PREP|||on|||REQUIRED|||-NONE-|||1

S Last year my company send me to Japan for three month , it was a incredible experience .
A 4 5|||R:VERB:TENSE|||sent|||REQUIRED|||-NONE-|||0
A 10 11|||R:NOUN:NUM|||months|||REQUIRED|||-NONE-|||0
A 11 12|||R:PUNCT|||;|||REQUIRED|||-NONE-|||0
A 14 15|||R:DET|||an|||REQUIRED|||-NONE-|||0
A 2 2|||M:PUNCT|||,|||REQUIRED|||-NONE-|||1
A 4 5|||R:VERB:TENSE|||sent|||REQUIRED|||-NONE-|||1
A 10 11|||R:NOUN:NUM|||months|||REQUIRED|||-NONE-|||1
A 12 13|||R:PRON|||which|||REQUIRED|||-NONE-|||1
A 14 15|||R:DET|||an|||REQUIRED|||-NONE-|||1

S According to me , the government should to invest more money on the public transports .
A 0 3|||R:OTHER|||In my opinion|||REQUIRED|||-NONE-|||0
A 7 8|||U:PART||||||REQUIRED|||-NONE-|||0
A 11 12|||R:PREP|||in|||REQUIRED|||-NONE-|||0
A 12 13|||U:DET||||||REQUIRED|||-NONE-|||0
A 14 15|||R:NOUN:NUM|||transport|||REQUIRED|||-NONE-|||0
A 0 4|||R:OTHER|||I think|||REQUIRED|||-NONE-|||1
A 7 8|||U:PART||||||REQUIRED|||-NONE-|||1
A 8 9|||R:VERB|||spend|||REQUIRED|||-NONE-|||1
A 12 13|||U:DET||||||REQUIRED|||-NONE-|||1
A 14 15|||R:NOUN:NUM|||transport|||REQUIRED|||-NONE-|||1

S Hardly had we arrived when it started to snow .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1

S I am used to wake up early but in the weekends I prefer sleep until late .
A 4 5|||R:VERB:FORM|||waking|||REQUIRED|||-NONE-|||0
A 8 9|||R:PREP|||on||at|||REQUIRED|||-NONE-|||0
A 13 13|||M:PART|||to|||REQUIRED|||-NONE-|||0
A 4 5|||R:VERB:FORM|||waking|||REQUIRED|||-NONE-|||1
A 7 7|||M:PUNCT|||,|||REQUIRED|||-NONE-|||1
A 8 11|||R:OTHER|||at the weekend|||REQUIRED|||-NONE-|||1
A 13 16|||R:OTHER|||to sleep in|||REQUIRED|||-NONE-|||1

S Until tomorrow we must finish the project , else we become problems with the chef .
A 0 1|||R:PREP|||By|||REQUIRED|||-NONE-|||0
A 8 9|||R:ADV|||otherwise|||REQUIRED|||-NONE-|||0
A 10 11|||R:VERB|||will have|||REQUIRED|||-NONE-|||0
A 14 15|||R:NOUN|||boss|||REQUIRED|||-NONE-|||0
A 0 3|||R:OTHER|||We|||REQUIRED|||-NONE-|||1
A 7 7|||M:OTHER|||by tomorrow|||REQUIRED|||-NONE-|||1
A 8 12|||R:OTHER|||or we will get into trouble|||REQUIRED|||-NONE-|||1
A 14 15|||R:NOUN|||boss|||REQUIRED|||-NONE-|||1

S I lend a book from the library and I forgot to give back it .
A 1 2|||R:VERB|||borrowed|||REQUIRED|||-NONE-|||0
A 12 14|||R:WO|||it back|||REQUIRED|||-NONE-|||0
A 1 2|||R:VERB|||borrowed|||REQUIRED|||-NONE-|||1
A 12 14|||R:WO|||it back|||REQUIRED|||-NONE-|||1

S For me is difficult to speak in front of many peoples because I am shame .
A 2 2|||M:PRON|||it|||REQUIRED|||-NONE-|||0
A 10 11|||R:NOUN:NUM|||people|||REQUIRED|||-NONE-|||0
A 14 15|||R:MORPH|||shy||ashamed|||REQUIRED|||-NONE-|||0
A 0 4|||R:OTHER|||It is difficult for me|||REQUIRED|||-NONE-|||1
A 9 11|||R:OTHER|||a lot of people|||REQUIRED|||-NONE-|||1
A 13 15|||R:OTHER|||get embarrassed|||REQUIRED|||-NONE-|||1

S Every students has to write an essay about the global warming before of Friday .
A 1 2|||R:NOUN:NUM|||student|||REQUIRED|||-NONE-|||0
A 8 9|||U:DET||||||REQUIRED|||-NONE-|||0
A 12 13|||U:PREP||||||REQUIRED|||-NONE-|||0
A 0 3|||R:OTHER|||All students have|||REQUIRED|||-NONE-|||1
A 7 8|||R:PREP|||on|||REQUIRED|||-NONE-|||1
A 8 9|||U:DET||||||REQUIRED|||-NONE-|||1
A 11 13|||R:PREP|||by|||REQUIRED|||-NONE-|||1

S What a beautiful garden you have !
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1

S She is working in an hospital like a nurse since 2015 and she like very much her job .
A 1 2|||R:VERB:TENSE|||has been|||REQUIRED|||-NONE-|||0
A 4 5|||R:DET|||a|||REQUIRED|||-NONE-|||0
A 6 7|||R:PREP|||as|||REQUIRED|||-NONE-|||0
A 13 14|||R:VERB:SVA|||likes|||REQUIRED|||-NONE-|||0
A 14 18|||R:WO|||her job very much|||REQUIRED|||-NONE-|||0
A 1 3|||R:VERB:TENSE|||has worked|||REQUIRED|||-NONE-|||1
A 3 9|||R:WO|||as a nurse in a hospital|||REQUIRED|||-NONE-|||1
A 11 11|||M:PUNCT|||,|||REQUIRED|||-NONE-|||1
A 13 16|||R:OTHER|||really likes|||REQUIRED|||-NONE-|||1

S My uncle he is engineer and he have three childs , the oldest from them studying in Canada .
A 2 3|||U:PRON||||||REQUIRED|||-NONE-|||0
A 4 4|||M:DET|||an|||REQUIRED|||-NONE-|||0
A 7 8|||R:VERB:SVA|||has|||REQUIRED|||-NONE-|||0
A 9 10|||R:NOUN:INFL|||children|||REQUIRED|||-NONE-|||0
A 10 11|||R:PUNCT|||;|||REQUIRED|||-NONE-|||0
A 13 14|||R:PREP|||of|||REQUIRED|||-NONE-|||0
A 15 15|||M:VERB:TENSE|||is|||REQUIRED|||-NONE-|||0
A 2 3|||U:PRON||||||REQUIRED|||-NONE-|||1
A 4 4|||M:DET|||an|||REQUIRED|||-NONE-|||1
A 6 7|||U:PRON||||||REQUIRED|||-NONE-|||1
A 7 8|||R:VERB:SVA|||has|||REQUIRED|||-NONE-|||1
A 9 10|||R:NOUN:INFL|||children|||REQUIRED|||-NONE-|||1
A 13 15|||R:OTHER|||of whom|||REQUIRED|||-NONE-|||1
A 15 15|||M:VERB:TENSE|||is|||REQUIRED|||-NONE-|||1

S The pollution of rivers is a serious problem that affect to everyone , specially the childrens .
A 9 10|||R:VERB:SVA|||affects|||REQUIRED|||-NONE-|||0
A 10 11|||U:PREP||||||REQUIRED|||-NONE-|||0
A 13 14|||R:ADV|||especially|||REQUIRED|||-NONE-|||0
A 14 15|||U:DET||||||REQUIRED|||-NONE-|||0
A 15 16|||R:NOUN:INFL|||children|||REQUIRED|||-NONE-|||0
A 0 4|||R:OTHER|||River pollution|||REQUIRED|||-NONE-|||1
A 9 10|||R:VERB:SVA|||affects|||REQUIRED|||-NONE-|||1
A 10 11|||U:PREP||||||REQUIRED|||-NONE-|||1
A 13 14|||R:ADV|||especially|||REQUIRED|||-NONE-|||1
A 14 15|||U:DET||||||REQUIRED|||-NONE-|||1
A 15 16|||R:NOUN:INFL|||children|||REQUIRED|||-NONE-|||1

S I have not money for buy it .
A 1 3|||R:OTHER|||do not have the|||REQUIRED|||-NONE-|||0
A 4 5|||R:PREP|||to|||REQUIRED|||-NONE-|||0
A 1 5|||R:OTHER|||ca n't afford to|||REQUIRED|||-NONE-|||1

S In conclusion , I believe that the advantages of living in a big city outweigh the disadvantages .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1

S When I arrived to the airport the plane already left , so I must to wait until the next morning .
A 3 4|||R:PREP|||at|||REQUIRED|||-NONE-|||0
A 6 6|||M:PUNCT|||,|||REQUIRED|||-NONE-|||0
A 8 8|||M:VERB:TENSE|||had|||REQUIRED|||-NONE-|||0
A 13 14|||R:VERB|||had|||REQUIRED|||-NONE-|||0
A 0 3|||R:OTHER|||By the time I got|||REQUIRED|||-NONE-|||1
A 6 6|||M:PUNCT|||,|||REQUIRED|||-NONE-|||1
A 8 8|||M:VERB:TENSE|||had|||REQUIRED|||-NONE-|||1
A 13 14|||R:VERB|||had|||REQUIRED|||-NONE-|||1

S He was so tired that he felt sleep on the sofa with his shoes weared .
A 6 7|||R:VERB|||fell|||REQUIRED|||-NONE-|||0
A 7 8|||R:ADJ|||asleep|||REQUIRED|||-NONE-|||0
A 14 15|||R:OTHER|||on|||REQUIRED|||-NONE-|||0
A 6 7|||R:VERB|||fell|||REQUIRED|||-NONE-|||1
A 7 8|||R:ADJ|||asleep|||REQUIRED|||-NONE-|||1
A 14 15|||R:OTHER|||on|||REQUIRED|||-NONE-|||1

S I think that English is need for my future job , so I must study it hardly .
A 5 6|||R:OTHER|||necessary||needed|||REQUIRED|||-NONE-|||0
A 16 17|||R:ADV|||hard|||REQUIRED|||-NONE-|||0
A 2 6|||R:OTHER|||I will need English|||REQUIRED|||-NONE-|||1
A 15 16|||U:PRON||||||REQUIRED|||-NONE-|||1
A 16 17|||R:ADV|||hard|||REQUIRED|||-NONE-|||1

S Do you have any plan for tonight , or would you like to come to the cinema with us ?
A 4 5|||R:NOUN:NUM|||plans|||REQUIRED|||-NONE-|||0
A 4 5|||R:NOUN:NUM|||plans|||REQUIRED|||-NONE-|||1

S Its more cheaper to buy vegtables in the market then in the supermarket .
A 0 1|||R:CONTR|||It 's|||REQUIRED|||-NONE-|||0
A 1 2|||U:ADV||||||REQUIRED|||-NONE-|||0
A 5 6|||R:SPELL|||vegetables|||REQUIRED|||-NONE-|||0
A 9 10|||R:CONJ|||than|||REQUIRED|||-NONE-|||0
A 0 1|||R:CONTR|||It 's|||REQUIRED|||-NONE-|||1
A 1 2|||U:ADV||||||REQUIRED|||-NONE-|||1
A 5 6|||R:SPELL|||vegetables|||REQUIRED|||-NONE-|||1
A 9 10|||R:CONJ|||than|||REQUIRED|||-NONE-|||1

S Neither of them knew what to say .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1

S I would like to thanks all the people who helped to me during my stage in your firm .
A 4 5|||R:VERB:FORM|||thank|||REQUIRED|||-NONE-|||0
A 10 11|||U:PREP||||||REQUIRED|||-NONE-|||0
A 14 15|||R:NOUN|||internship|||REQUIRED|||-NONE-|||0
A 15 16|||R:PREP|||at|||REQUIRED|||-NONE-|||0
A 4 5|||R:VERB:FORM|||thank|||REQUIRED|||-NONE-|||1
A 10 11|||U:PREP||||||REQUIRED|||-NONE-|||1
A 14 15|||R:NOUN|||internship|||REQUIRED|||-NONE-|||1
A 15 16|||R:PREP|||at|||REQUIRED|||-NONE-|||1

S The peoples that lives in the mountains has a hard live , specialy in winter when the snow block the roads and is not possible to buy nothing .
A 1 2|||R:NOUN:NUM|||people|||REQUIRED|||-NONE-|||0
A 3 4|||R:VERB:SVA|||live|||REQUIRED|||-NONE-|||0
A 7 8|||R:VERB:SVA|||have|||REQUIRED|||-NONE-|||0
A 10 11|||R:NOUN|||life|||REQUIRED|||-NONE-|||0
A 12 13|||R:SPELL|||especially|||REQUIRED|||-NONE-|||0
A 18 19|||R:VERB:SVA|||blocks|||REQUIRED|||-NONE-|||0
A 22 22|||M:PRON|||it|||REQUIRED|||-NONE-|||0
A 27 28|||R:PRON|||anything|||REQUIRED|||-NONE-|||0
A 0 4|||R:OTHER|||People who live|||REQUIRED|||-NONE-|||1
A 7 8|||R:VERB:SVA|||have|||REQUIRED|||-NONE-|||1
A 10 11|||R:NOUN|||life|||REQUIRED|||-NONE-|||1
A 12 13|||R:SPELL|||especially|||REQUIRED|||-NONE-|||1
A 15 15|||M:PUNCT|||,|||REQUIRED|||-NONE-|||1
A 16 17|||U:DET||||||REQUIRED|||-NONE-|||1
A 18 19|||R:VERB:SVA|||blocks|||REQUIRED|||-NONE-|||1
A 22 22|||M:PRON|||it|||REQUIRED|||-NONE-|||1
A 23 25|||R:ADJ|||impossible|||REQUIRED|||-NONE-|||1
A 27 28|||R:PRON|||anything|||REQUIRED|||-NONE-|||1

S Open the window , please ; it is very hot in here .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1

S My hometown have many delicious food , welcome you come to visit in anytime .
A 2 3|||R:VERB:SVA|||has|||REQUIRED|||-NONE-|||0
A 3 4|||R:DET|||a lot of|||REQUIRED|||-NONE-|||0
A 6 7|||R:PUNCT|||;|||REQUIRED|||-NONE-|||0
A 7 9|||R:OTHER|||you are welcome to|||REQUIRED|||-NONE-|||0
A 12 13|||U:PREP||||||REQUIRED|||-NONE-|||0
A 0 4|||R:OTHER|||There is a lot of|||REQUIRED|||-NONE-|||1
A 6 6|||M:OTHER|||in my hometown|||REQUIRED|||-NONE-|||1
A 7 14|||R:OTHER|||so feel free to visit any time|||REQUIRED|||-NONE-|||1

S I am interesting in learn more about the renewable energies , so I decided inscribe me in a course online .
A 2 3|||R:ADJ|||interested|||REQUIRED|||-NONE-|||0
A 4 5|||R:VERB:FORM|||learning|||REQUIRED|||-NONE-|||0
A 7 8|||U:DET||||||REQUIRED|||-NONE-|||0
A 9 10|||R:NOUN:NUM|||energy|||REQUIRED|||-NONE-|||0
A 14 16|||R:OTHER|||to enrol|||REQUIRED|||-NONE-|||0
A 17 20|||R:WO|||an online course|||REQUIRED|||-NONE-|||0
A 2 3|||R:ADJ|||interested|||REQUIRED|||-NONE-|||1
A 4 5|||R:VERB:FORM|||learning|||REQUIRED|||-NONE-|||1
A 7 8|||U:DET||||||REQUIRED|||-NONE-|||1
A 9 10|||R:NOUN:NUM|||energy|||REQUIRED|||-NONE-|||1
A 13 17|||R:OTHER|||signed up for|||REQUIRED|||-NONE-|||1
A 17 20|||R:WO|||an online course|||REQUIRED|||-NONE-|||1

S Could you borrow me your pen for a moment ?
A 2 3|||R:VERB|||lend|||REQUIRED|||-NONE-|||0
A 2 3|||R:VERB|||lend|||REQUIRED|||-NONE-|||1

S All of sudden , the lights gone out and we could n't to see nothing .
A 2 2|||M:DET|||a|||REQUIRED|||-NONE-|||0
A 6 7|||R:VERB:TENSE|||went||had gone|||REQUIRED|||-NONE-|||0
A 12 13|||U:PART||||||REQUIRED|||-NONE-|||0
A 14 15|||R:PRON|||anything|||REQUIRED|||-NONE-|||0
A 0 3|||R:OTHER|||Suddenly|||REQUIRED|||-NONE-|||1
A 6 7|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||1
A 12 15|||R:OTHER|||see a thing|||REQUIRED|||-NONE-|||1

S He is the man who I met him in the party of Laura .
A 7 8|||U:PRON||||||REQUIRED|||-NONE-|||0
A 8 9|||R:PREP|||at|||REQUIRED|||-NONE-|||0
A 9 13|||R:NOUN:POSS|||Laura 's party|||REQUIRED|||-NONE-|||0
A 7 8|||U:PRON||||||REQUIRED|||-NONE-|||1
A 8 9|||R:PREP|||at|||REQUIRED|||-NONE-|||1
A 9 13|||R:NOUN:POSS|||Laura 's party|||REQUIRED|||-NONE-|||1

S We discussed about the problem during the meeting , but we did not arrive to any conclusion .
A 2 3|||U:PREP||||||REQUIRED|||-NONE-|||0
A 13 14|||R:VERB|||come|||REQUIRED|||-NONE-|||0
A 2 3|||U:PREP||||||REQUIRED|||-NONE-|||1
A 13 15|||R:VERB|||reach|||REQUIRED|||-NONE-|||1

S Eventhough the hotel was cheap the room was clean , and the staffs were very kindly .
A 0 1|||R:ORTH|||Even though|||REQUIRED|||-NONE-|||0
A 5 5|||M:PUNCT|||,|||REQUIRED|||-NONE-|||0
A 9 10|||U:PUNCT||||||REQUIRED|||-NONE-|||0
A 12 13|||R:NOUN:NUM|||staff|||REQUIRED|||-NONE-|||0
A 15 16|||R:MORPH|||kind|||REQUIRED|||-NONE-|||0
A 0 1|||R:CONJ|||Although|||REQUIRED|||-NONE-|||1
A 5 5|||M:PUNCT|||,|||REQUIRED|||-NONE-|||1
A 9 10|||U:PUNCT||||||REQUIRED|||-NONE-|||1
A 12 14|||R:OTHER|||staff was|||REQUIRED|||-NONE-|||1
A 15 16|||R:ADJ|||friendly|||REQUIRED|||-NONE-|||1

S I have few friends in this city , but the ones I have are wonderful .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1

S If you will have any question do not hesitate in contact me by email .
A 2 3|||U:VERB:TENSE||||||REQUIRED|||-NONE-|||0
A 5 6|||R:NOUN:NUM|||questions|||REQUIRED|||-NONE-|||0
A 6 6|||M:PUNCT|||,|||REQUIRED|||-NONE-|||0
A 9 10|||R:PART|||to|||REQUIRED|||-NONE-|||0
A 2 3|||U:VERB:TENSE||||||REQUIRED|||-NONE-|||1
A 5 6|||R:NOUN:NUM|||questions|||REQUIRED|||-NONE-|||1
A 6 6|||M:PUNCT|||,|||REQUIRED|||-NONE-|||1
A 9 10|||R:PART|||to|||REQUIRED|||-NONE-|||1

S The film was so bored that the half of the public left before to finish .
A 4 5|||R:ADJ|||boring|||REQUIRED|||-NONE-|||0
A 6 7|||U:DET||||||REQUIRED|||-NONE-|||0
A 10 11|||R:NOUN|||audience|||REQUIRED|||-NONE-|||0
A 13 15|||R:OTHER|||it finished|||REQUIRED|||-NONE-|||0
A 4 5|||R:ADJ|||boring|||REQUIRED|||-NONE-|||1
A 6 7|||U:DET||||||REQUIRED|||-NONE-|||1
A 8 9|||U:PREP||||||REQUIRED|||-NONE-|||1
A 10 11|||R:NOUN|||audience|||REQUIRED|||-NONE-|||1
A 11 15|||R:OTHER|||walked out before the end|||REQUIRED|||-NONE-|||1

S I wish I can speak French as good as my sister do .
A 3 4|||R:VERB:TENSE|||could|||REQUIRED|||-NONE-|||0
A 7 8|||R:ADV|||well|||REQUIRED|||-NONE-|||0
A 11 12|||R:VERB:SVA|||does|||REQUIRED|||-NONE-|||0
A 3 4|||R:VERB:TENSE|||could|||REQUIRED|||-NONE-|||1
A 7 8|||R:ADV|||well|||REQUIRED|||-NONE-|||1
A 11 12|||R:VERB:SVA|||does|||REQUIRED|||-NONE-|||1

S The café who is in front of my house serve the best croissants of the city , but it closes the mondays .
A 2 3|||R:PRON|||that|||REQUIRED|||-NONE-|||0
A 9 10|||R:VERB:SVA|||serves|||REQUIRED|||-NONE-|||0
A 13 14|||R:PREP|||in|||REQUIRED|||-NONE-|||0
A 20 21|||R:OTHER|||on|||REQUIRED|||-NONE-|||0
A 21 22|||R:ORTH|||Mondays|||REQUIRED|||-NONE-|||0
A 2 7|||R:OTHER|||opposite|||REQUIRED|||-NONE-|||1
A 9 10|||R:VERB:SVA|||serves|||REQUIRED|||-NONE-|||1
A 13 14|||R:PREP|||in|||REQUIRED|||-NONE-|||1
A 19 22|||R:OTHER|||is closed on Mondays|||REQUIRED|||-NONE-|||1

S Since the price of the ticket have rised to 45 € , less students goes to the concerts .
A 6 7|||R:VERB:SVA|||has|||REQUIRED|||-NONE-|||0
A 7 8|||R:VERB:INFL|||risen|||REQUIRED|||-NONE-|||0
A 12 13|||R:ADJ|||fewer|||REQUIRED|||-NONE-|||0
A 14 15|||R:VERB:SVA|||go|||REQUIRED|||-NONE-|||0
A 2 8|||R:OTHER|||ticket price rose|||REQUIRED|||-NONE-|||1
A 9 11|||R:WO|||€ 45|||REQUIRED|||-NONE-|||1
A 12 13|||R:ADJ|||fewer|||REQUIRED|||-NONE-|||1
A 14 15|||R:VERB:TENSE|||have been going|||REQUIRED|||-NONE-|||1

S Is a tradition that all the familly eat together the sundays .
A 0 1|||R:OTHER|||It is|||REQUIRED|||-NONE-|||0
A 4 6|||R:OTHER|||the whole|||REQUIRED|||-NONE-|||0
A 6 7|||R:SPELL|||family|||REQUIRED|||-NONE-|||0
A 7 8|||R:VERB:SVA|||eats|||REQUIRED|||-NONE-|||0
A 9 10|||R:OTHER|||on|||REQUIRED|||-NONE-|||0
A 10 11|||R:ORTH|||Sundays|||REQUIRED|||-NONE-|||0
A 0 1|||R:OTHER|||It is|||REQUIRED|||-NONE-|||1
A 3 8|||R:OTHER|||for the whole family to eat|||REQUIRED|||-NONE-|||1
A 9 11|||R:OTHER|||on Sundays|||REQUIRED|||-NONE-|||1

S Nobody told to me that the meeting had been moved for Thursday .
A 2 3|||U:PREP||||||REQUIRED|||-NONE-|||0
A 10 11|||R:PREP|||to|||REQUIRED|||-NONE-|||0
A 2 3|||U:PREP||||||REQUIRED|||-NONE-|||1
A 10 11|||R:PREP|||to|||REQUIRED|||-NONE-|||1

S I think technology make our lifes more easy , but in the other hand we talk less each other .
A 3 4|||R:VERB:SVA|||makes|||REQUIRED|||-NONE-|||0
A 5 6|||R:NOUN:INFL|||lives|||REQUIRED|||-NONE-|||0
A 6 8|||R:ADJ:FORM|||easier|||REQUIRED|||-NONE-|||0
A 10 11|||R:PREP|||on|||REQUIRED|||-NONE-|||0
A 17 17|||M:PREP|||to|||REQUIRED|||-NONE-|||0
A 3 4|||R:VERB:SVA|||makes|||REQUIRED|||-NONE-|||1
A 5 6|||R:NOUN:INFL|||lives|||REQUIRED|||-NONE-|||1
A 6 8|||R:ADJ:FORM|||easier|||REQUIRED|||-NONE-|||1
A 10 11|||R:PREP|||on|||REQUIRED|||-NONE-|||1
A 14 14|||M:PUNCT|||,|||REQUIRED|||-NONE-|||1
A 16 19|||R:WO|||to each other less|||REQUIRED|||-NONE-|||1

S Where you are from ?
A 1 3|||R:WO|||are you|||REQUIRED|||-NONE-|||0
A 1 3|||R:WO|||are you|||REQUIRED|||-NONE-|||1

S To learn a foreign language requires a lot of patience , however , the effort worth it .
A 10 11|||R:PUNCT|||;|||REQUIRED|||-NONE-|||0
A 15 15|||M:VERB|||is|||REQUIRED|||-NONE-|||0
A 0 2|||R:VERB:FORM|||Learning|||REQUIRED|||-NONE-|||1
A 10 11|||R:PUNCT|||.|||REQUIRED|||-NONE-|||1
A 11 12|||R:ORTH|||However|||REQUIRED|||-NONE-|||1
A 13 17|||R:OTHER|||it is worth the effort|||REQUIRED|||-NONE-|||1

S The results of the experiment shows that plants grew more fast when they listened to music .
A 5 6|||R:VERB:SVA|||show|||REQUIRED|||-NONE-|||0
A 9 11|||R:ADV|||faster|||REQUIRED|||-NONE-|||0
A 5 6|||R:VERB:SVA|||show|||REQUIRED|||-NONE-|||1
A 9 11|||R:ADV|||faster|||REQUIRED|||-NONE-|||1

S Dear Sir or Madam , I saw your advertisment in the newspaper and I am interested for the post of assistant , because I have working experience of two years in a similar position .
A 8 9|||R:SPELL|||advertisement|||REQUIRED|||-NONE-|||0
A 16 17|||R:PREP|||in|||REQUIRED|||-NONE-|||0
A 25 30|||R:OTHER|||two years of work experience|||REQUIRED|||-NONE-|||0
A 8 9|||R:SPELL|||advertisement|||REQUIRED|||-NONE-|||1
A 15 16|||R:OTHER|||writing to apply|||REQUIRED|||-NONE-|||1
A 22 23|||R:CONJ|||as|||REQUIRED|||-NONE-|||1
A 25 30|||R:OTHER|||two years ' experience|||REQUIRED|||-NONE-|||1
