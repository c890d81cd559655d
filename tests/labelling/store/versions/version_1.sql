BEGIN TRANSACTION;
CREATE TABLE changes (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at DOUBLE NOT NULL, 
	who TEXT NOT NULL, 
	what TEXT NOT NULL, 
	detail JSON NOT NULL
);
INSERT INTO "changes" VALUES(1,1.70000000638630270957e+09,'owner','add labels','{"names": ["left", "l\u00f3w; \"2\"", "far", "near", "old"]}');
INSERT INTO "changes" VALUES(2,1.70000000683145260807e+09,'owner','add labels','{"names": ["new"]}');
INSERT INTO "changes" VALUES(3,1.70000000684141039852e+09,'owner','rename label','{"old": "far", "new": "far away"}');
INSERT INTO "changes" VALUES(4,1.7000000068580825329e+09,'owner','merge labels','{"source": "near", "target": "far away"}');
INSERT INTO "changes" VALUES(5,1.70000000686964964865e+09,'owner','retire label','{"name": "old"}');
INSERT INTO "changes" VALUES(6,1.70000000688583350182e+09,'owner','add items','{"number": 1}');
CREATE TABLE event_values (
	event INTEGER NOT NULL, 
	label INTEGER NOT NULL, 
	value SMALLINT NOT NULL, 
	PRIMARY KEY (event, label), 
	FOREIGN KEY(event) REFERENCES events (id), 
	FOREIGN KEY(label) REFERENCES labels (id)
)
 WITHOUT ROWID

;
INSERT INTO "event_values" VALUES(1,1,1);
INSERT INTO "event_values" VALUES(1,2,0);
INSERT INTO "event_values" VALUES(1,3,0);
INSERT INTO "event_values" VALUES(1,4,1);
INSERT INTO "event_values" VALUES(1,5,0);
INSERT INTO "event_values" VALUES(2,1,1);
INSERT INTO "event_values" VALUES(2,2,0);
INSERT INTO "event_values" VALUES(2,3,0);
INSERT INTO "event_values" VALUES(2,4,1);
INSERT INTO "event_values" VALUES(2,5,0);
INSERT INTO "event_values" VALUES(3,1,1);
INSERT INTO "event_values" VALUES(3,2,0);
INSERT INTO "event_values" VALUES(3,3,1);
INSERT INTO "event_values" VALUES(3,4,0);
INSERT INTO "event_values" VALUES(3,5,0);
INSERT INTO "event_values" VALUES(4,1,1);
INSERT INTO "event_values" VALUES(4,2,0);
INSERT INTO "event_values" VALUES(4,3,1);
INSERT INTO "event_values" VALUES(4,4,0);
INSERT INTO "event_values" VALUES(4,5,0);
INSERT INTO "event_values" VALUES(5,1,-1);
INSERT INTO "event_values" VALUES(5,2,1);
INSERT INTO "event_values" VALUES(5,3,0);
INSERT INTO "event_values" VALUES(5,4,0);
INSERT INTO "event_values" VALUES(5,5,1);
INSERT INTO "event_values" VALUES(6,1,-1);
INSERT INTO "event_values" VALUES(6,2,1);
INSERT INTO "event_values" VALUES(6,3,0);
INSERT INTO "event_values" VALUES(6,4,0);
INSERT INTO "event_values" VALUES(6,5,1);
INSERT INTO "event_values" VALUES(7,1,1);
INSERT INTO "event_values" VALUES(7,2,0);
INSERT INTO "event_values" VALUES(7,3,0);
INSERT INTO "event_values" VALUES(7,4,1);
INSERT INTO "event_values" VALUES(7,5,0);
INSERT INTO "event_values" VALUES(8,1,1);
INSERT INTO "event_values" VALUES(8,2,0);
INSERT INTO "event_values" VALUES(8,3,0);
INSERT INTO "event_values" VALUES(8,4,1);
INSERT INTO "event_values" VALUES(8,5,0);
INSERT INTO "event_values" VALUES(9,1,1);
INSERT INTO "event_values" VALUES(9,2,0);
INSERT INTO "event_values" VALUES(9,3,1);
INSERT INTO "event_values" VALUES(9,4,0);
INSERT INTO "event_values" VALUES(9,5,0);
INSERT INTO "event_values" VALUES(10,1,1);
INSERT INTO "event_values" VALUES(10,2,0);
INSERT INTO "event_values" VALUES(10,3,1);
INSERT INTO "event_values" VALUES(10,4,0);
INSERT INTO "event_values" VALUES(10,5,0);
INSERT INTO "event_values" VALUES(11,1,1);
INSERT INTO "event_values" VALUES(11,2,1);
INSERT INTO "event_values" VALUES(11,3,0);
INSERT INTO "event_values" VALUES(11,4,0);
INSERT INTO "event_values" VALUES(11,5,1);
INSERT INTO "event_values" VALUES(12,1,1);
INSERT INTO "event_values" VALUES(12,2,1);
INSERT INTO "event_values" VALUES(12,3,0);
INSERT INTO "event_values" VALUES(12,4,0);
INSERT INTO "event_values" VALUES(12,5,1);
INSERT INTO "event_values" VALUES(15,1,1);
INSERT INTO "event_values" VALUES(15,2,0);
INSERT INTO "event_values" VALUES(16,1,0);
INSERT INTO "event_values" VALUES(17,4,0);
INSERT INTO "event_values" VALUES(17,6,0);
INSERT INTO "event_values" VALUES(18,4,1);
INSERT INTO "event_values" VALUES(18,6,0);
INSERT INTO "event_values" VALUES(19,4,0);
INSERT INTO "event_values" VALUES(19,6,1);
INSERT INTO "event_values" VALUES(20,4,1);
INSERT INTO "event_values" VALUES(20,6,0);
INSERT INTO "event_values" VALUES(21,4,0);
INSERT INTO "event_values" VALUES(21,6,0);
INSERT INTO "event_values" VALUES(22,3,1);
INSERT INTO "event_values" VALUES(23,3,1);
INSERT INTO "event_values" VALUES(24,3,1);
INSERT INTO "event_values" VALUES(25,3,1);
INSERT INTO "event_values" VALUES(26,3,0);
INSERT INTO "event_values" VALUES(27,3,1);
INSERT INTO "event_values" VALUES(28,3,0);
INSERT INTO "event_values" VALUES(29,3,1);
INSERT INTO "event_values" VALUES(30,3,0);
INSERT INTO "event_values" VALUES(31,1,1);
CREATE TABLE events (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at DOUBLE NOT NULL, 
	who TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	item INTEGER NOT NULL, 
	asked INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	lease TEXT, 
	undoes INTEGER, 
	FOREIGN KEY(item) REFERENCES items (id), 
	UNIQUE (lease), 
	UNIQUE (undoes), 
	FOREIGN KEY(undoes) REFERENCES events (id)
);
INSERT INTO "events" VALUES(1,1.70000000666478490824e+09,'ann','answer',9,0,'cold start','f516587468fbb6c4',NULL);
INSERT INTO "events" VALUES(2,1.70000000667741703991e+09,'bob','answer',9,0,'cold start','1ac4a023a3b40578',NULL);
INSERT INTO "events" VALUES(3,1.70000000670772910115e+09,'ann','answer',12,0,'cold start','9ad31c3d2ef1934b',NULL);
INSERT INTO "events" VALUES(4,1.70000000671790409091e+09,'bob','answer',12,0,'cold start','b879948698f09997',NULL);
INSERT INTO "events" VALUES(5,1.70000000672595310211e+09,'ann','answer',6,0,'cold start','b379857172d4fcf5',NULL);
INSERT INTO "events" VALUES(6,1.70000000674265503881e+09,'bob','answer',6,0,'cold start','8818748bcba9c6b8',NULL);
INSERT INTO "events" VALUES(7,1.70000000675610208515e+09,'ann','answer',17,0,'control','5b5d4491f490dc66',NULL);
INSERT INTO "events" VALUES(8,1.70000000676718211172e+09,'bob','answer',17,0,'control','73d2573ba357fb2b',NULL);
INSERT INTO "events" VALUES(9,1.70000000677480888363e+09,'ann','answer',15,0,'cold start','55866622148f441a',NULL);
INSERT INTO "events" VALUES(10,1700000006.77972,'bob','answer',15,0,'cold start','e4e7dfd022a77467',NULL);
INSERT INTO "events" VALUES(11,1.70000000678579711913e+09,'ann','answer',5,0,'cold start','d7881d85a60917fa',NULL);
INSERT INTO "events" VALUES(12,1.70000000679241609576e+09,'bob','answer',5,0,'cold start','bb62e0f4d3a141c5',NULL);
INSERT INTO "events" VALUES(13,1.70000000679785799977e+09,'ann','undo',5,0,'cold start',NULL,11);
INSERT INTO "events" VALUES(14,1.70000000680894803998e+09,'bob','skip',19,0,'control','e30bcab5b9c0363d',NULL);
INSERT INTO "events" VALUES(15,1.7000000068215270042e+09,'cid','answer',2,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(16,1.70000000682769608498e+09,'cid','answer',2,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(17,1700000006.84857,'dan','answer',4,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(18,1.70000000684902405736e+09,'dan','answer',5,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(19,1700000006.84947,'dan','answer',6,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(20,1700000006.84972,'dan','answer',7,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(21,1.70000000684993100167e+09,'dan','answer',8,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(22,1.70000000685929083827e+09,'ann','answer',9,3,'cold start',NULL,NULL);
INSERT INTO "events" VALUES(23,1.70000000685929083827e+09,'bob','answer',9,3,'cold start',NULL,NULL);
INSERT INTO "events" VALUES(24,1.70000000685929083827e+09,'ann','answer',17,3,'control',NULL,NULL);
INSERT INTO "events" VALUES(25,1.70000000685929083827e+09,'bob','answer',17,3,'control',NULL,NULL);
INSERT INTO "events" VALUES(26,1.70000000685929083827e+09,'dan','answer',4,3,'told',NULL,NULL);
INSERT INTO "events" VALUES(27,1.70000000685929083827e+09,'dan','answer',5,3,'told',NULL,NULL);
INSERT INTO "events" VALUES(28,1.70000000685929083827e+09,'dan','answer',6,3,'told',NULL,NULL);
INSERT INTO "events" VALUES(29,1.70000000685929083827e+09,'dan','answer',7,3,'told',NULL,NULL);
INSERT INTO "events" VALUES(30,1.70000000685929083827e+09,'dan','answer',8,3,'told',NULL,NULL);
INSERT INTO "events" VALUES(31,1.70000000688518261909e+09,'owner','answer',21,0,'given',NULL,NULL);
CREATE TABLE items (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	content JSON, 
	numbers BLOB, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "items" VALUES(1,'p0','{"text": "point 0", "gr\u00f6\u00dfe": 0.0}',X'00000000000000000000000000000000');
INSERT INTO "items" VALUES(2,'p1','{"text": "point 1", "gr\u00f6\u00dfe": 0.5}',X'000000000000F03F0000000000000000');
INSERT INTO "items" VALUES(3,'p2','{"text": "point 2", "gr\u00f6\u00dfe": 1.0}',X'00000000000000400000000000000000');
INSERT INTO "items" VALUES(4,'p3','{"text": "point 3", "gr\u00f6\u00dfe": 1.5}',X'00000000000008400000000000000000');
INSERT INTO "items" VALUES(5,'p4','{"text": "point 4", "gr\u00f6\u00dfe": 2.0}',X'00000000000010400000000000000000');
INSERT INTO "items" VALUES(6,'p5','{"text": "point 5", "gr\u00f6\u00dfe": 2.5}',X'0000000000000000000000000000F03F');
INSERT INTO "items" VALUES(7,'p6','{"text": "point 6", "gr\u00f6\u00dfe": 3.0}',X'000000000000F03F000000000000F03F');
INSERT INTO "items" VALUES(8,'p7','{"text": "point 7", "gr\u00f6\u00dfe": 3.5}',X'0000000000000040000000000000F03F');
INSERT INTO "items" VALUES(9,'p8','{"text": "point 8", "gr\u00f6\u00dfe": 4.0}',X'0000000000000840000000000000F03F');
INSERT INTO "items" VALUES(10,'p9','{"text": "point 9", "gr\u00f6\u00dfe": 4.5}',X'0000000000001040000000000000F03F');
INSERT INTO "items" VALUES(11,'p10','{"text": "point 10", "gr\u00f6\u00dfe": 5.0}',X'00000000000000000000000000000040');
INSERT INTO "items" VALUES(12,'p11','{"text": "point 11", "gr\u00f6\u00dfe": 5.5}',X'000000000000F03F0000000000000040');
INSERT INTO "items" VALUES(13,'p12','{"text": "point 12", "gr\u00f6\u00dfe": 6.0}',X'00000000000000400000000000000040');
INSERT INTO "items" VALUES(14,'p13','{"text": "point 13", "gr\u00f6\u00dfe": 6.5}',X'00000000000008400000000000000040');
INSERT INTO "items" VALUES(15,'p14','{"text": "point 14", "gr\u00f6\u00dfe": 7.0}',X'00000000000010400000000000000040');
INSERT INTO "items" VALUES(16,'p15','{"text": "point 15", "gr\u00f6\u00dfe": 7.5}',X'00000000000000000000000000000840');
INSERT INTO "items" VALUES(17,'p16','{"text": "point 16", "gr\u00f6\u00dfe": 8.0}',X'000000000000F03F0000000000000840');
INSERT INTO "items" VALUES(18,'p17','{"text": "point 17", "gr\u00f6\u00dfe": 8.5}',X'00000000000000400000000000000840');
INSERT INTO "items" VALUES(19,'p18','{"text": "point 18", "gr\u00f6\u00dfe": 9.0}',X'00000000000008400000000000000840');
INSERT INTO "items" VALUES(20,'p19','{"text": "point 19", "gr\u00f6\u00dfe": 9.5}',X'00000000000010400000000000000840');
INSERT INTO "items" VALUES(21,'given','"x"',X'00000000000022400000000000002240');
CREATE TABLE labels (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	retired_at DOUBLE, 
	merged_into INTEGER, 
	PRIMARY KEY (id), 
	FOREIGN KEY(merged_into) REFERENCES labels (id)
);
INSERT INTO "labels" VALUES(1,'left',NULL,NULL);
INSERT INTO "labels" VALUES(2,'lów; "2"',NULL,NULL);
INSERT INTO "labels" VALUES(3,'far away',NULL,NULL);
INSERT INTO "labels" VALUES(4,'near',NULL,3);
INSERT INTO "labels" VALUES(5,'old',1.70000000686964964865e+09,NULL);
INSERT INTO "labels" VALUES(6,'new',NULL,NULL);
CREATE TABLE labelwise_project (
	"key" TEXT NOT NULL, 
	value JSON NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "labelwise_project" VALUES('format','"labelwise project"');
INSERT INTO "labelwise_project" VALUES('version',1);
INSERT INTO "labelwise_project" VALUES('identity','"48bff82c514e4759bccfdbb5c65725ae"');
INSERT INTO "labelwise_project" VALUES('settings','{"model": "binary_relevance", "strategy": "uncertainty", "model_options": {}, "features": {"kind": "numbers", "width": 2, "sparse": false}, "control": 0.2, "overlap": 2, "overlap_share": 1.0, "lease_seconds": 600.0, "ready": 12, "read_cost": 0.0, "answer_cost": 1.0, "label_costs": {}, "random_state": 0}');
CREATE TABLE leases (
	token TEXT NOT NULL, 
	item INTEGER NOT NULL, 
	label INTEGER NOT NULL, 
	who TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	score DOUBLE, 
	rank INTEGER NOT NULL, 
	beliefs BLOB, 
	given_at DOUBLE NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	state TEXT NOT NULL, 
	PRIMARY KEY (token), 
	FOREIGN KEY(item) REFERENCES items (id)
);
INSERT INTO "leases" VALUES('f516587468fbb6c4',9,0,'ann','cold start',1.04797895030149956774e+00,0,NULL,1.70000000664957499505e+09,1.70000060664958500865e+09,'answered');
INSERT INTO "leases" VALUES('1ac4a023a3b40578',9,0,'bob','cold start',1.04797895030149956774e+00,0,NULL,1700000006.67344,1.70000060667344808575e+09,'answered');
INSERT INTO "leases" VALUES('9ad31c3d2ef1934b',12,0,'ann','cold start',8.84949839114036573839e-01,1,NULL,1.70000000668047189719e+09,1.700000606680478096e+09,'answered');
INSERT INTO "leases" VALUES('b879948698f09997',12,0,'bob','cold start',8.84949839114036573839e-01,1,NULL,1700000006.71351,1.70000060671351504318e+09,'answered');
INSERT INTO "leases" VALUES('b379857172d4fcf5',6,0,'ann','cold start',7.0360358078468165921e-01,2,NULL,1.70000000672425293922e+09,1.70000060672425794597e+09,'answered');
INSERT INTO "leases" VALUES('8818748bcba9c6b8',6,0,'bob','cold start',7.0360358078468165921e-01,2,NULL,1.70000000673569202427e+09,1.70000060673569703103e+09,'answered');
INSERT INTO "leases" VALUES('5b5d4491f490dc66',17,0,'ann','control',NULL,3,NULL,1.70000000675289106365e+09,1.70000060675289797786e+09,'answered');
INSERT INTO "leases" VALUES('73d2573ba357fb2b',17,0,'bob','control',NULL,3,NULL,1.70000000676337790486e+09,1.70000060676338100428e+09,'answered');
INSERT INTO "leases" VALUES('55866622148f441a',15,0,'ann','cold start',6.49494039653523591582e-01,4,NULL,1.70000000676961493493e+09,1.70000060676961803436e+09,'answered');
INSERT INTO "leases" VALUES('e4e7dfd022a77467',15,0,'bob','cold start',6.49494039653523591582e-01,4,NULL,1.70000000677691793442e+09,1.70000060677692103384e+09,'answered');
INSERT INTO "leases" VALUES('d7881d85a60917fa',5,0,'ann','cold start',3.66447754779228196397e-01,5,NULL,1.70000000678330206874e+09,1.70000060678330492973e+09,'answered');
INSERT INTO "leases" VALUES('bb62e0f4d3a141c5',5,0,'bob','cold start',3.66447754779228196397e-01,5,NULL,1.70000000679039406769e+09,1.70000060679039788251e+09,'answered');
INSERT INTO "leases" VALUES('38e3ecac0e6ada72',5,0,'ann','cold start',NULL,0,NULL,1.70000000679878211025e+09,1.700000606798787117e+09,'open');
INSERT INTO "leases" VALUES('e30bcab5b9c0363d',19,0,'bob','control',NULL,6,NULL,1.70000000680548191069e+09,1.70000060680548596377e+09,'skipped');
INSERT INTO "leases" VALUES('61f6f2c81df9b8f0',19,0,'cid','control',NULL,6,NULL,1.70000000681348109243e+09,1.70000060681348490717e+09,'open');
INSERT INTO "leases" VALUES('21a5162b6631f44a',18,0,'cid','cold start',2.66713685611977224798e-01,7,NULL,1.70000000681378698346e+09,1700000606.81379,'open');
CREATE TABLE questions (
	"plan" INTEGER NOT NULL, 
	item INTEGER NOT NULL, 
	label INTEGER NOT NULL, 
	rank INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	score DOUBLE, 
	remaining INTEGER NOT NULL, 
	beliefs BLOB, 
	PRIMARY KEY ("plan", item, label), 
	FOREIGN KEY(item) REFERENCES items (id)
);
INSERT INTO "questions" VALUES(2,2,0,0,'overlap',NULL,1,X'8A0BB03EFA47153F614F483ECE9C023E');
INSERT INTO "questions" VALUES(2,4,0,1,'overlap',NULL,1,X'45FD523F9880083FBAFDF63E5F88973A');
INSERT INTO "questions" VALUES(2,7,0,2,'overlap',NULL,1,X'0FC63C3F8A5AA43ECABB003F695F483E');
INSERT INTO "questions" VALUES(2,8,0,3,'overlap',NULL,1,X'FEC2643FA142993EDB192A3FDC91AD3C');
INSERT INTO "questions" VALUES(2,1,0,4,'strategy',2.1017542969307787537e+00,2,X'48A9183EE1861B3FAA4BE23D04251F3F');
INSERT INTO "questions" VALUES(2,11,0,5,'strategy',1.96899129997174338058e+00,2,X'998D553F36DA193E9AB52E3F51DF513F');
INSERT INTO "questions" VALUES(2,16,0,6,'strategy',1.05781277270082552099e+00,2,X'14D8763F96F6663D873E663FCD21623F');
INSERT INTO "questions" VALUES(2,3,0,8,'control',NULL,2,X'80481C3FF0ED0E3FA622A53E4D64523C');
INSERT INTO "questions" VALUES(2,10,0,9,'strategy',1.0029845313744962798e+00,2,X'24A37C3F7A6C843E0632623F4DAA3339');
INSERT INTO "questions" VALUES(2,13,0,10,'strategy',0.977575140811164,2,X'776F7A3FA132013EE448643FDB680E3D');
INSERT INTO "questions" VALUES(2,14,0,11,'strategy',6.4532247606557080477e-01,2,X'B71C7E3F6160EC3D120D713FC25E513B');
CREATE TABLE trainings (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	state TEXT NOT NULL, 
	started_at DOUBLE NOT NULL, 
	finished_at DOUBLE, 
	seen_event INTEGER NOT NULL, 
	seen_change INTEGER NOT NULL, 
	message TEXT, 
	report JSON
);
INSERT INTO "trainings" VALUES(1,'good',1.70000000644202113155e+09,1.70000000658250975606e+09,0,1,NULL,'{"answers": 0, "control_items": 0, "base_rates": {}}');
INSERT INTO "trainings" VALUES(2,'good',1.70000000690044236187e+09,1.70000000700186133383e+09,31,6,NULL,'{"answers": 17, "control_items": 1, "f1": {"f1": 1.0, "low": 1.0, "high": 1.0, "items": 1, "entries": 3}, "base_rates": {"left": {"rate": 0.75, "low": 0.22851981380632874, "high": 0.9984570806973271}, "l\u00f3w; \"2\"": {"rate": 0.25, "low": 0.0015429193026729434, "high": 0.7714801861936711}, "far away": {"rate": 0.75, "low": 0.22851981380632874, "high": 0.9984570806973271}}}');
CREATE INDEX events_of_a_person ON events (item, who);
CREATE INDEX questions_in_order ON questions ("plan", rank);
CREATE INDEX leases_of_an_item ON leases (item, label);
CREATE INDEX leases_by_state ON leases (state, expires_at);
CREATE VIEW votes AS 
        SELECT event, item, label, who, reason, value FROM (
            SELECT e.id AS event, e.item, v.label, e.who, e.reason, v.value,
                   row_number() OVER (PARTITION BY e.item, v.label, e.who ORDER BY e.id DESC) AS latest
            FROM events e JOIN event_values v ON v.event = e.id
            WHERE e.kind = 'answer' AND NOT EXISTS (SELECT 1 FROM events u WHERE u.undoes = e.id)
        ) AS said WHERE latest = 1;
CREATE VIEW current_labels AS 
        SELECT item, label, CASE WHEN yes > no THEN 1 WHEN no > yes THEN 0 ELSE last_word END AS value, yes, no FROM (
            SELECT item, label, who, event, value,
                   sum(CASE WHEN value = 1 THEN 1 ELSE 0 END) OVER (PARTITION BY item, label) AS yes,
                   sum(CASE WHEN value = 0 THEN 1 ELSE 0 END) OVER (PARTITION BY item, label) AS no,
                   first_value(value) OVER (PARTITION BY item, label ORDER BY event DESC) AS last_word,
                   row_number() OVER (PARTITION BY item, label ORDER BY event DESC) AS latest
            FROM votes WHERE value >= 0
        ) AS counted WHERE latest = 1;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('changes',6);
INSERT INTO "sqlite_sequence" VALUES('trainings',2);
INSERT INTO "sqlite_sequence" VALUES('events',31);
COMMIT;
